import type { ThreadToolCall, ToolCallState } from "@sluice/core";
import { type ReactNode, useId } from "react";
import { Button, Chip } from "../ui/button.js";
import { toolTitles } from "./settings.js";
import { useVerbs } from "./use-chat.js";

const states: Readonly<Record<ToolCallState, string>> = {
  streaming: "Writing…",
  "needs-approval": "Needs your approval",
  "needs-result": "Needs your answer",
  running: "Running…",
  done: "Done",
  failed: "Failed",
  denied: "Denied",
  cancelled: "Cancelled",
};

/** A tool call: its arguments, its state, its result, and the answer that it waits for. */
export function ToolCard({ call }: { readonly call: ThreadToolCall }) {
  const { name, state, output, error, input } = call;
  const title = useId();
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has no place for the state beside its name
    <div
      role="group"
      aria-labelledby={title}
      className="flex flex-col gap-3 rounded-xl border bg-surface p-3"
    >
      <div className="flex flex-wrap items-baseline gap-x-2 text-sm">
        <h3 id={title} className="font-medium">
          {toolTitles[name] ?? name}
        </h3>
        <code className="text-xs text-muted">{name}</code>
        <span className="ml-auto text-xs text-muted">{states[state]}</span>
      </div>
      <Values label="Arguments" value={input ?? call.arguments} />
      {state === "needs-approval" && <Approval toolCallId={call.id} />}
      {state === "needs-result" && <Answering call={call} />}
      {state === "done" && <Values label="Result" value={output} />}
      {error !== undefined && <Values label="Told the model" value={error} />}
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
          <dt className="text-muted">{name === "" ? label : name}</dt>
          <dd dir="auto" className="min-w-0 wrap-anywhere whitespace-pre-wrap">
            {written(content)}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function written(value: unknown): ReactNode {
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map(String).join(", ");
  return <code className="text-xs">{JSON.stringify(value)}</code>;
}

function Approval({ toolCallId }: { readonly toolCallId: string }) {
  const { approve, deny } = useVerbs();
  return (
    <div className="flex flex-wrap gap-2">
      <Button look="primary" onClick={() => void approve(toolCallId)}>
        Approve
      </Button>
      <Button onClick={() => void deny(toolCallId)}>Deny</Button>
    </div>
  );
}

const colors = [
  { name: "reed", hex: "#6f8f3a", swatch: "bg-[#6f8f3a]" },
  { name: "current", hex: "#0b7a72", swatch: "bg-[#0b7a72]" },
  { name: "dusk", hex: "#4a5fa8", swatch: "bg-[#4a5fa8]" },
  { name: "heather", hex: "#9a5c9c", swatch: "bg-[#9a5c9c]" },
  { name: "brick", hex: "#b3402f", swatch: "bg-[#b3402f]" },
  { name: "sand", hex: "#d1a85a", swatch: "bg-[#d1a85a]" },
] as const;

/** The answer to `pick_color`. A tool without a card of its own is answered with nothing. */
function Answering({ call }: { readonly call: ThreadToolCall }) {
  const { addToolResult } = useVerbs();
  if (call.name !== "pick_color")
    return <Button onClick={() => void addToolResult(call.id, null)}>Skip</Button>;
  return (
    <div className="flex flex-wrap gap-2">
      {colors.map(({ name, hex, swatch }) => (
        <Chip key={name} onClick={() => void addToolResult(call.id, { name, hex })}>
          <span aria-hidden className={`size-4 rounded-full ${swatch}`} />
          {name}
        </Chip>
      ))}
      <Chip onClick={() => void addToolResult(call.id, { name: "none" })}>No color</Chip>
    </div>
  );
}
