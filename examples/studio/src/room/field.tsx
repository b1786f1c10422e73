import type { Issue } from "@sluice/core";
import { type ReactNode, useId } from "react";

/** What a control needs to be called by its label, and described by what is said below it. */
interface ControlProps {
  readonly id: string;
  readonly "aria-describedby": string | undefined;
  readonly "aria-invalid": boolean;
}

interface FieldProps {
  readonly name: string;
  readonly hint?: ReactNode;
  /** What is wrong with what it holds. */
  readonly issues?: readonly Issue[];
  readonly children: (control: ControlProps) => ReactNode;
}

/** A control with its label, a hint and what is wrong with it. */
export function Field({ name, hint, issues = [], children }: FieldProps) {
  const id = useId();
  const said = hint !== undefined || issues.length > 0;
  return (
    <div className="field">
      <label htmlFor={id}>{name}</label>
      {children({
        id,
        "aria-describedby": said ? `${id}-said` : undefined,
        "aria-invalid": issues.length > 0,
      })}
      {said && (
        <div id={`${id}-said`}>
          {hint !== undefined && <p className="hint">{hint}</p>}
          <Issues issues={issues} />
        </div>
      )}
    </div>
  );
}

/** Broken rules, in the words of the library. */
export function Issues({ issues }: { issues: readonly Issue[] }) {
  return issues.map(({ path, rule, message }) => (
    <p key={`${path} ${rule}`} className="issue">
      {message}
    </p>
  ));
}

interface ChoiceProps<Value extends string> {
  readonly name: string;
  readonly value: Value | "";
  readonly values: readonly Value[];
  /** What the empty choice is called, where there is one. */
  readonly none?: string | undefined;
  readonly hint?: ReactNode;
  readonly issues?: readonly Issue[];
  readonly onChange: (value: Value | "") => void;
}

/** One of several. */
export function Choice<Value extends string>(props: ChoiceProps<Value>) {
  const { name, value, values, none, hint, issues = [], onChange } = props;
  return (
    <Field name={name} hint={hint} issues={issues}>
      {(control) => (
        <select {...control} value={value} onChange={(event) => onChange(event.target.value as Value | "")}>
          {none !== undefined && <option value="">{none}</option>}
          {values.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
      )}
    </Field>
  );
}

interface NumberFieldProps {
  readonly name: string;
  /** As it was typed: what is no number is said to be none, and not swallowed. */
  readonly value: string;
  readonly hint?: ReactNode;
  readonly issues?: readonly Issue[];
  readonly onChange: (value: string) => void;
}

/** A number that may be left out. */
export function NumberField({ name, value, hint, issues = [], onChange }: NumberFieldProps) {
  return (
    <Field name={name} hint={hint} issues={issues}>
      {(control) => (
        <input
          {...control}
          type="text"
          inputMode="numeric"
          autoComplete="off"
          value={value}
          onChange={(event) => onChange(event.target.value)}
        />
      )}
    </Field>
  );
}

/** What was typed, as a request has it: left out, a number, or the text itself, which no model takes. */
export function numberOf(text: string): number | string | undefined {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  const number = Number(trimmed);
  return Number.isNaN(number) ? trimmed : number;
}

/** The issues of a field, and of all that is in it. */
export function issuesAt(issues: readonly Issue[], field: string): readonly Issue[] {
  return issues.filter(({ path }) => path === field || path.startsWith(`${field}.`));
}

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

/** A switch, as in the chat. */
export function Switch({
  name,
  isOn,
  onChange,
}: {
  name: string;
  isOn: boolean;
  onChange: (isOn: boolean) => void;
}) {
  return (
    <label className="switch">
      <input
        type="checkbox"
        role="switch"
        aria-checked={isOn}
        checked={isOn}
        onChange={(event) => onChange(event.target.checked)}
      />
      {name}
    </label>
  );
}
