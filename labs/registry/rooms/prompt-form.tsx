"use client";

import type { Estimate as EstimateOf } from "@sluice/prices";
import { describeError } from "@sluice/react";
import { Sparkles } from "lucide-react";
import type { FormEvent, KeyboardEvent } from "react";
import { Button } from "@/components/sluice/button";
import { Estimate } from "@/components/sluice/cost";

interface PromptFormProps {
  /** Name of the field: "Describe an image". */
  readonly label: string;
  readonly prompt: string;
  readonly onPrompt: (prompt: string) => void;
  readonly onSubmit: () => void;
  readonly isBusy: boolean;
  readonly estimate: EstimateOf;
  /** Error of the last request. */
  readonly error: Error | undefined;
}

/** A prompt, what its result will cost, and why the last one failed. */
export function PromptForm(props: PromptFormProps) {
  const { label, prompt, onPrompt, onSubmit, isBusy, error } = props;
  const problem = error && describeError(error);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (prompt.trim() !== "" && !isBusy) onSubmit();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    // a key that is held would pay again and again
    if (!event.repeat && prompt.trim() !== "" && !isBusy) onSubmit();
  };
  return (
    <form
      onSubmit={submit}
      className="mx-auto flex w-full max-w-3xl flex-col gap-2 rounded-2xl border border-input bg-card p-3 shadow-sm focus-within:border-primary"
    >
      <textarea
        aria-label={label}
        placeholder={label}
        dir="auto"
        rows={2}
        value={prompt}
        onChange={({ target }) => onPrompt(target.value)}
        onKeyDown={onKeyDown}
        className="resize-none bg-transparent outline-none"
      />
      {problem && (
        <p role="alert" className="text-sm">
          <strong className="font-medium">{problem.title}.</strong> {problem.hint}
        </p>
      )}
      <div className="flex justify-end">
        <Estimate estimate={props.estimate}>
          <Button type="submit" look="primary" disabled={prompt.trim() === "" || isBusy}>
            <Sparkles aria-hidden />
            {isBusy ? "Generating…" : "Generate"}
          </Button>
        </Estimate>
      </div>
    </form>
  );
}
