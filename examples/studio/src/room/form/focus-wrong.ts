/** Brings whoever could not submit to the first field that is wrong. */
export function focusWrong(form: HTMLFormElement | null): void {
  // the fields show what is wrong when React is done
  requestAnimationFrame(() => {
    const issue = form?.querySelector<HTMLElement>(".issue");
    const control =
      form?.querySelector<HTMLElement>("[aria-invalid=true]") ??
      issue?.closest("fieldset")?.querySelector<HTMLElement>("button, input");
    control?.focus();
    issue?.scrollIntoView({ block: "nearest" });
  });
}
