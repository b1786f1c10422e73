"use client";

import { describeError } from "@sluice/react";
import { CircleAlert, Sparkles } from "lucide-react";
import { type KeyboardEvent, type ReactNode, type RefObject, useId, useState } from "react";
import { Button, onPressOnce } from "@/components/sluice/button";
import { Estimate, type ShownEstimate } from "@/components/sluice/cost";
import { detectDirection } from "@/components/sluice/field-text";
import { mediaFormWords } from "@/components/sluice/media-words";

export interface PromptFormProps {
  /** Name of the form: "New image". */
  readonly label: string;
  readonly placeholder: string;
  readonly prompt: string;
  /** Problem of the prompt. */
  readonly problem?: string | undefined;
  readonly onPrompt: (prompt: string) => void;
  readonly onSubmit: () => void;
  /** True while a request is in flight: the form sends no other request. */
  readonly isBusy: boolean;
  /** Cost of the request. @default no cost is shown */
  readonly estimate?: ShownEstimate;
  /** Error of the last request. */
  readonly error?: Error | undefined;
  readonly onDismiss?: () => void;
  /** Button that sends the form, for the focus. */
  readonly button?: RefObject<HTMLButtonElement | null>;
  /** Content above the prompt: the images of the request. */
  readonly above?: ReactNode;
  /** Settings beside the button. */
  readonly children?: ReactNode;
}

/** The form of an image or a video: its prompt, its settings, the cost, and the error of the last request. */
export function PromptForm(props: PromptFormProps) {
  const { label, placeholder, prompt, problem, onPrompt, onSubmit, isBusy, estimate, error } = props;
  const { button: buttonRef, above, children, onDismiss } = props;
  const id = useId();
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const submit = () => {
    onSubmit();
    // after React has shown the problems
    requestAnimationFrame(() => box?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    // a held key must not send twice
    if (!event.repeat && !isBusy) submit();
  };
  const button = (
    <Button
      ref={buttonRef}
      variant="primary"
      aria-disabled={isBusy || undefined}
      className="aria-disabled:opacity-60"
      {...onPressOnce(() => !isBusy && submit())}
    >
      <Sparkles aria-hidden />
      {isBusy ? mediaFormWords.generating : mediaFormWords.generate}
    </Button>
  );
  return (
    <div ref={setBox} className="flex flex-col gap-4">
      <section
        aria-label={label}
        className="@container flex w-full flex-col gap-3 rounded-2xl border border-input bg-card p-4 shadow-sm focus-within:border-primary"
      >
        {above}
        <textarea
          aria-label={mediaFormWords.prompt}
          aria-invalid={problem ? true : undefined}
          aria-describedby={problem ? id : undefined}
          placeholder={placeholder}
          dir={detectDirection(prompt)}
          rows={2}
          value={prompt}
          onChange={({ target }) => onPrompt(target.value)}
          onKeyDown={onKeyDown}
          className="field-sizing-content max-h-60 min-h-14 w-full resize-none bg-transparent px-1 outline-none"
        />
        {problem && (
          <p id={id} dir="auto" role="alert" className="text-xs text-destructive">
            {problem}
          </p>
        )}
        <div className="flex flex-wrap items-end gap-2">
          {children}
          <span className="ms-auto">
            {estimate ? <Estimate estimate={estimate}>{button}</Estimate> : button}
          </span>
        </div>
      </section>
      {error && <Failure error={error} onRetry={submit} onDismiss={onDismiss} />}
    </div>
  );
}

interface FailureProps {
  readonly error: Error;
  readonly onRetry: () => void;
  readonly onDismiss: (() => void) | undefined;
}

/** A failed request: what happened, whether it may be billed, and what to do. */
function Failure({ error, onRetry, onDismiss }: FailureProps) {
  const { kind, title, hint, action, billing } = describeError(error);
  const canRetry = action === "retry" || action === "wait";
  return (
    <div
      role="alert"
      className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-xl bg-destructive/10 p-3 text-sm"
    >
      <CircleAlert className="size-4.5 shrink-0 text-destructive" aria-hidden />
      <p dir="auto" className="min-w-48 grow basis-0">
        <strong className="font-medium">{title}.</strong> {hint}
        {kind !== "invalidInput" && billing === "none" && ` ${mediaFormWords.noneBilled}`}
      </p>
      {canRetry && (
        <Button {...onPressOnce(onRetry)}>
          {billing === "maybe" ? mediaFormWords.retryLost : mediaFormWords.retry}
        </Button>
      )}
      {onDismiss && (
        <Button variant="quiet" onClick={onDismiss}>
          {mediaFormWords.dismiss}
        </Button>
      )}
    </div>
  );
}
