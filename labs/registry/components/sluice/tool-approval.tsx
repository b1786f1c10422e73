"use client";

import type { ChatToolCall } from "@sluice/react";
import { type ReactNode, useId } from "react";
import { Button, onPressOnce } from "@/components/sluice/button";
import { Estimate, type ShownEstimate } from "@/components/sluice/cost";
import { toolWords } from "@/components/sluice/words";

interface ToolCallCardProps {
  readonly call: ChatToolCall;
  /** Name of the tool for people. @default its own name */
  readonly title?: string;
  /** What the call will cost, beside the button that approves it. */
  readonly estimate?: ShownEstimate | undefined;
  /** Lets the call run: `approve` of `useChatStream`. */
  readonly onApprove: (toolCallId: string) => unknown;
  /** Refuses the call: `deny` of `useChatStream`. */
  readonly onDeny: (toolCallId: string) => unknown;
  /** Controls for the result of a call without a function. */
  readonly children?: ReactNode;
}

/** A tool call: its arguments, its state, its result, and the approval that it waits for. */
export function ToolCallCard(props: ToolCallCardProps) {
  const { call, estimate, onApprove, onDeny, children, title = call.name } = props;
  const { id, name, state, output, error, input } = call;
  const titleId = useId();
  const approve = (
    <Button variant="primary" {...onPressOnce(() => void onApprove(id))}>
      {toolWords.approve}
    </Button>
  );
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset can't show the state beside its name
    <div
      role="group"
      aria-labelledby={titleId}
      className="flex flex-col gap-3 rounded-xl border bg-secondary/50 p-3"
    >
      <div className="flex flex-wrap items-baseline gap-x-2 text-sm">
        <h3 id={titleId} className="font-medium">
          {title}
        </h3>
        <code className="text-xs text-muted-foreground">{name}</code>
        <span className="ms-auto text-xs text-muted-foreground">{toolWords.states[state]}</span>
      </div>
      <Values label={toolWords.arguments} value={input ?? call.arguments} />
      {state === "needs-approval" && (
        <div className="flex flex-wrap gap-2">
          {estimate ? <Estimate estimate={estimate}>{approve}</Estimate> : approve}
          <Button {...onPressOnce(() => void onDeny(id))}>{toolWords.deny}</Button>
        </div>
      )}
      {state === "needs-output" && children}
      {state === "done" && <Values label={toolWords.result} value={output} />}
      {error !== undefined && <Values label={toolWords.error} value={error} />}
    </div>
  );
}

/** A value as rows of names and contents. */
function Values({ label, value }: { readonly label: string; readonly value: unknown }) {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  const rows = isObject ? Object.entries(value) : [["", value] as const];
  if (rows.length === 0 || value === "") return null;
  return (
    <dl aria-label={label} className="grid grid-cols-[auto_1fr] gap-x-3 gap-y-1 text-sm">
      {rows.map(([name, content]) => (
        <div key={name} className="contents">
          <dt className="text-muted-foreground">{name === "" ? label : name}</dt>
          <dd dir="auto" className="min-w-0 wrap-anywhere whitespace-pre-wrap">
            {formatValue(content)}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function formatValue(value: unknown): ReactNode {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(String).join(", ");
  return <code className="text-xs">{JSON.stringify(value)}</code>;
}
