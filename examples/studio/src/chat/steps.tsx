import type { ThreadMessage, ThreadToolCall, ToolCallState } from "@sluice/core";
import clsx from "clsx";
import { Ban, Brain, Check, ChevronRight, CircleAlert, Hand, LoaderCircle, Text } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { ToolCallCard } from "@/components/sluice/tool-approval";
import { Button, Chip, onPressOnce } from "../ui/button.js";
import { later } from "../ui/later.js";
import { toolWords } from "../words.js";
import { useVerbs } from "./chat.js";
import { toolTitles } from "./settings.js";

const Markdown = later(async () => (await import("./markdown.js")).Markdown);

interface StepsProps {
  readonly answers: readonly ThreadMessage[];
  readonly isBusy: boolean;
}

/** Says if a tool call waits for the user. */
export function isAsking(answers: readonly ThreadMessage[]): boolean {
  return answers.some(({ toolCalls = [] }) =>
    toolCalls.some(({ state }) => state === "needs-approval" || state === "needs-result"),
  );
}

/** Thinking and tool calls of a turn, in one box that opens while they go on. */
export function Steps({ answers, isBusy }: StepsProps) {
  const [chosen, setChosen] = useState<boolean>();
  const id = useId();
  const calls = answers.flatMap(({ toolCalls = [] }) => toolCalls);
  const count = calls.length + answers.filter(({ reasoning }) => reasoning).length;
  if (count === 0) return null;
  const doing = isBusy ? doingOf(answers) : undefined;
  const isOpen = chosen ?? (isAsking(answers) || doing !== undefined);
  return (
    <div className="flex flex-col">
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setChosen(!isOpen)}
        className="control -ml-2 inline-flex items-center gap-2 self-start rounded-lg px-2 text-sm text-muted hover:bg-hover hover:text-ink"
      >
        <ChevronRight aria-hidden className={clsx("size-4 transition-transform", isOpen && "rotate-90")} />
        <span className={clsx(doing && "animate-pulse")}>{doing ?? summaryOf(answers, calls)}</span>
      </button>
      <ol id={id} hidden={!isOpen} className="ml-2 flex flex-col gap-4 border-l pt-2 pb-1 pl-5">
        {isOpen && answers.map((answer) => <StepsOf key={answer.id} answer={answer} />)}
      </ol>
    </div>
  );
}

function StepsOf({ answer }: { readonly answer: ThreadMessage }) {
  const { content, reasoning, outcome, toolCalls = [] } = answer;
  const { approve, deny } = useVerbs();
  return (
    <>
      {reasoning && (
        <Step icon={<Brain aria-hidden />}>
          <p dir="auto" className="text-sm whitespace-pre-wrap text-muted">
            {reasoning}
          </p>
        </Step>
      )}
      {content !== "" && toolCalls.length > 0 && (
        <Step icon={<Text aria-hidden />}>
          <Markdown text={content} isLive={outcome === undefined} />
        </Step>
      )}
      {toolCalls.map((call) => (
        <Step key={call.id} icon={iconOf(call.state)}>
          <ToolCallCard call={call} title={titleOf(call)} onApprove={approve} onDeny={deny}>
            <Answering call={call} />
          </ToolCallCard>
        </Step>
      ))}
    </>
  );
}

function Step({ icon, children }: { readonly icon: ReactNode; readonly children: ReactNode }) {
  return (
    <li className="relative min-w-0">
      <span className="absolute top-0.5 -left-[1.9rem] bg-canvas py-0.5 text-muted [&_svg]:size-4">
        {icon}
      </span>
      {children}
    </li>
  );
}

function iconOf(state: ToolCallState): ReactNode {
  switch (state) {
    case "streaming":
    case "running":
      return <LoaderCircle aria-hidden className="animate-spin" />;
    case "needs-approval":
    case "needs-result":
      return <Hand aria-hidden className="text-accent" />;
    case "done":
      return <Check aria-hidden className="text-accent" />;
    case "failed":
      return <CircleAlert aria-hidden className="text-danger" />;
    default:
      return <Ban aria-hidden />;
  }
}

/** The step that goes on now; undefined while the text of the answer comes. */
function doingOf(answers: readonly ThreadMessage[]): string | undefined {
  const last = answers.at(-1);
  const call = last?.toolCalls?.find(({ state }) => state === "streaming" || state === "running");
  if (call) return `${titleOf(call)}…`;
  return last?.content === "" && last.outcome === undefined ? "Thinking…" : undefined;
}

function summaryOf(answers: readonly ThreadMessage[], calls: readonly ThreadToolCall[]): string {
  if (calls.length === 0) return "Reasoning";
  const steps = calls.length + answers.filter(({ reasoning }) => reasoning).length;
  const used = [...new Set(calls.map(titleOf))].join(", ");
  const missed = calls.find(({ state }) => state === "denied" || state === "cancelled" || state === "failed");
  return `${used} · ${missed ? toolWords[missed.state] : `${steps} ${steps === 1 ? "step" : "steps"}`}`;
}

function titleOf({ name }: ThreadToolCall): string {
  return toolTitles[name] ?? name;
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
    return <Button {...onPressOnce(() => void addToolResult(call.id, null))}>Skip</Button>;
  return (
    <div className="flex flex-wrap gap-2">
      {colors.map(({ name, hex, swatch }) => (
        <Chip key={name} {...onPressOnce(() => void addToolResult(call.id, { name, hex }))}>
          <span aria-hidden className={`size-4 rounded-full ${swatch}`} />
          {name}
        </Chip>
      ))}
      <Chip {...onPressOnce(() => void addToolResult(call.id, { name: "none" }))}>No color</Chip>
    </div>
  );
}
