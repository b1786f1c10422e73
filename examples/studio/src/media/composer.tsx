import type { Outcome } from "@sluice/core";
import { describeError } from "@sluice/react/app";
import clsx from "clsx";
import { CircleAlert, Sparkles } from "lucide-react";
import { type KeyboardEvent, type ReactNode, type RefObject, useId } from "react";
import type { DemoPrompt } from "../../demo/prompts.js";
import { demoPrompts } from "../../demo/prompts.js";
import { Button } from "../ui/button.js";
import { Problem } from "./sources.js";
import type { FormControls } from "./use-media-form.js";

/** Moves the focus to the first field that is wrong, when React has marked it. */
export function focusProblem(around: HTMLElement | null): void {
  requestAnimationFrame(() => {
    const wrong = around?.querySelector<HTMLElement>("[aria-invalid=true], button[data-invalid]");
    wrong?.focus();
  });
}

interface PromptProps {
  readonly form: FormControls;
  readonly placeholder: string;
  readonly onSubmit: () => void;
  readonly className?: string;
}

/** The prompt. Enter sends, Shift+Enter begins a new line. */
export function PromptInput({ form, placeholder, onSubmit, className }: PromptProps) {
  const id = useId();
  const problem = form.problems.get("prompt");
  const { prompt } = form.values;
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    // a key that is held would pay again and again
    if (!event.repeat) onSubmit();
  };
  return (
    <div className={clsx("flex min-w-0 flex-col gap-1", className)}>
      <textarea
        aria-label="Prompt"
        aria-invalid={problem ? true : undefined}
        aria-describedby={problem ? id : undefined}
        dir="auto"
        rows={2}
        placeholder={placeholder}
        value={typeof prompt === "string" ? prompt : ""}
        onChange={(event) => form.set("prompt", event.target.value)}
        onKeyDown={onKeyDown}
        className="field-sizing-content max-h-60 min-h-14 w-full grow resize-none rounded-md bg-transparent px-1"
      />
      {problem && <Problem id={id} text={problem} />}
    </div>
  );
}

interface GenerateProps {
  readonly button: RefObject<HTMLButtonElement | null>;
  readonly isBusy: boolean;
  readonly children: ReactNode;
  readonly onPress: () => void;
}

/** The button that costs money: a double click and a held key press it once. */
export function GenerateButton({ button, isBusy, children, onPress }: GenerateProps) {
  return (
    <Button
      ref={button}
      look="primary"
      aria-disabled={isBusy || undefined}
      className="aria-disabled:opacity-60"
      onClick={({ detail }) => {
        if (!isBusy && detail < 2) onPress();
      }}
      onKeyDown={(event) => {
        if (event.repeat) event.preventDefault();
      }}
    >
      <Sparkles aria-hidden />
      {children}
    </Button>
  );
}

interface FailureProps {
  readonly error: unknown;
  readonly outcome?: Outcome | undefined;
  readonly onRetry?: () => void;
  readonly onDismiss?: () => void;
}

/** A failed request, in words for people, with one way on. */
export function Failure({ error, outcome, onRetry, onDismiss }: FailureProps) {
  const { title, hint, action, mayBeBilled } = describeError(error, { outcome });
  const canRetry = action === "retry" || action === "wait";
  return (
    <div
      role="alert"
      className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-xl bg-danger-soft p-3 text-sm"
    >
      <CircleAlert className="size-4.5 shrink-0 text-danger" aria-hidden />
      <p className="min-w-48 grow basis-0">
        <strong className="font-medium">{title}.</strong> {hint}
      </p>
      <span className="flex gap-2">
        {onRetry && canRetry && (
          <Button onClick={({ detail }) => detail < 2 && onRetry()}>
            {mayBeBilled ? "Retry anyway" : "Try again"}
          </Button>
        )}
        {onDismiss && (
          <Button look="quiet" onClick={onDismiss}>
            Dismiss
          </Button>
        )}
      </span>
    </div>
  );
}

/** Pictures that the emulator paints for the examples, by the path of the file. */
const thumbnails = import.meta.glob<string>("../../demo/thumbnails/*.webp", {
  eager: true,
  query: "?url",
  import: "default",
});

interface ExamplesProps {
  readonly room: DemoPrompt["room"];
  readonly title: string;
  readonly most: number;
  readonly onPick: (example: DemoPrompt) => void;
}

/** An empty room: its first sentence, and prompts that are worth a try. */
export function Examples({ room, title, most, onPick }: ExamplesProps) {
  const examples = demoPrompts.filter((prompt) => prompt.room === room).slice(0, most);
  return (
    <section aria-label="Examples" className="flex flex-col gap-4">
      <h2 className="text-sm text-muted">{title}</h2>
      <ul className="grid grid-cols-[repeat(auto-fill,minmax(min(100%,12rem),1fr))] gap-4">
        {examples.map((example) => (
          <li key={example.id}>
            <button
              type="button"
              onClick={({ detail }) => detail < 2 && onPick(example)}
              className="group flex h-full w-full flex-col overflow-hidden rounded-xl border bg-raised text-left transition-colors hover:border-accent"
            >
              <img
                src={thumbnails[`../../demo/thumbnails/${example.id}.webp`]}
                alt=""
                width={480}
                height={270}
                className="aspect-video w-full object-cover transition-transform duration-300 group-hover:scale-105"
              />
              <span className="relative flex grow flex-col gap-1 bg-raised p-3">
                <span className="text-sm font-medium">{example.title}</span>
                <span className="text-sm text-muted">{example.prompt}</span>
              </span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}
