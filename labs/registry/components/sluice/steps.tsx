"use client";

import type { ChatMessage, ChatToolCall } from "@sluice/react";
import { Ban, Brain, Check, ChevronRight, CircleAlert, Hand, LoaderCircle, Text } from "lucide-react";
import { type ReactNode, useId, useState } from "react";
import { renderPlainText } from "@/components/sluice/assistant-message";
import type { ShownEstimate } from "@/components/sluice/cost";
import { ToolCallCard } from "@/components/sluice/tool-approval";
import { stepWords } from "@/components/sluice/words";
import { cn } from "@/lib/utils";

export interface StepsProps {
  /** The responses to one question: several where the model calls tools. */
  readonly replies: readonly ChatMessage[];
  /** True while the response is in flight in this tab. */
  readonly isBusy: boolean;
  /** Names of the tools for people. @default their own names */
  readonly toolTitles?: Readonly<Record<string, string>>;
  /** Estimates the cost of a call before the user approves it: `estimateCost` of `@sluice/prices`. */
  readonly estimateTool?: (call: ChatToolCall) => ShownEstimate | undefined;
  /** Lets a call run: `approve` of `useChatStream`. */
  readonly onApprove: (toolCallId: string) => unknown;
  /** Refuses a call: `deny` of `useChatStream`. */
  readonly onDeny: (toolCallId: string) => unknown;
  /** Shows the text before a tool call, for example as Markdown. @default plain text */
  readonly renderText?: (text: string, isLive: boolean) => ReactNode;
  /** Asks the user for the result of a tool without a function. */
  readonly renderTool?: (call: ChatToolCall) => ReactNode;
}

/** Returns true if a tool call waits for the user. */
export function needsUser(replies: readonly ChatMessage[]): boolean {
  return replies.some(({ toolCalls = [] }) =>
    toolCalls.some(({ state }) => state === "needs-approval" || state === "needs-output"),
  );
}

/** Thinking and tool calls of a turn, in one box that is open while they run. */
export function Steps(props: StepsProps) {
  const { replies, isBusy, toolTitles = {} } = props;
  const [chosen, setChosen] = useState<boolean>();
  const id = useId();
  const calls = replies.flatMap(({ toolCalls = [] }) => toolCalls);
  const count = calls.length + replies.filter(({ reasoning }) => reasoning).length;
  if (count === 0) return null;
  const currentStep = isBusy ? describeStep(replies, toolTitles) : undefined;
  const isOpen = chosen ?? (needsUser(replies) || currentStep !== undefined);
  return (
    <div className="flex flex-col">
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={id}
        onClick={() => setChosen(!isOpen)}
        className="-ms-2 inline-flex min-h-8 pointer-coarse:min-h-11 items-center gap-2 self-start rounded-lg px-2 text-sm text-muted-foreground hover:bg-secondary hover:text-foreground"
      >
        <ChevronRight aria-hidden className={cn("size-4 transition-transform", isOpen && "rotate-90")} />
        <span className={cn(currentStep && "animate-pulse")}>
          {currentStep ?? summarizeSteps(replies, calls, toolTitles)}
        </span>
      </button>
      <ol id={id} hidden={!isOpen} className="ms-2 flex flex-col gap-4 border-s pt-2 pb-1 ps-5">
        {isOpen && replies.map((reply) => <MessageSteps key={reply.id} {...props} reply={reply} />)}
      </ol>
    </div>
  );
}

function MessageSteps(props: StepsProps & { readonly reply: ChatMessage }) {
  const { reply, toolTitles = {}, estimateTool, onApprove, onDeny, renderText = renderPlainText } = props;
  const { content, reasoning, outcome, toolCalls = [] } = reply;
  return (
    <>
      {reasoning && (
        <Step icon={<Brain aria-hidden />}>
          <p dir="auto" className="text-sm whitespace-pre-wrap text-muted-foreground">
            {reasoning}
          </p>
        </Step>
      )}
      {content !== "" && toolCalls.length > 0 && (
        <Step icon={<Text aria-hidden />}>{renderText(content, outcome === undefined)}</Step>
      )}
      {toolCalls.map((call) => (
        <Step key={call.id} icon={renderIcon(call.state)}>
          <ToolCallCard
            call={call}
            title={getTitle(call, toolTitles)}
            estimate={estimateTool?.(call)}
            onApprove={onApprove}
            onDeny={onDeny}
          >
            {props.renderTool?.(call)}
          </ToolCallCard>
        </Step>
      ))}
    </>
  );
}

function Step({ icon, children }: { readonly icon: ReactNode; readonly children: ReactNode }) {
  return (
    <li className="relative min-w-0">
      <span className="absolute top-0.5 -start-[1.9rem] bg-background py-0.5 text-muted-foreground [&_svg]:size-4">
        {icon}
      </span>
      {children}
    </li>
  );
}

function renderIcon(state: ChatToolCall["state"]): ReactNode {
  switch (state) {
    case "streaming":
    case "running":
      return <LoaderCircle aria-hidden className="animate-spin text-info" />;
    case "needs-approval":
    case "needs-output":
      return <Hand aria-hidden className="text-warning" />;
    case "done":
      return <Check aria-hidden className="text-success" />;
    case "failed":
      return <CircleAlert aria-hidden className="text-destructive" />;
    default:
      return <Ban aria-hidden />;
  }
}

type Titles = NonNullable<StepsProps["toolTitles"]>;

/** Describes the running step; undefined while the text streams. */
function describeStep(replies: readonly ChatMessage[], titles: Titles): string | undefined {
  const last = replies.at(-1);
  const call = last?.toolCalls?.find(({ state }) => state === "streaming" || state === "running");
  if (call) return stepWords.doing(getTitle(call, titles));
  return last?.content === "" && last.outcome === undefined ? stepWords.thinking : undefined;
}

function summarizeSteps(
  replies: readonly ChatMessage[],
  calls: readonly ChatToolCall[],
  titles: Titles,
): string {
  if (calls.length === 0) return stepWords.reasoning;
  const count = calls.length + replies.filter(({ reasoning }) => reasoning).length;
  const tools = [...new Set(calls.map((call) => getTitle(call, titles)))].join(", ");
  const failed = calls.find(({ state }) => state === "denied" || state === "cancelled" || state === "failed");
  return `${tools} · ${failed ? stepWords.states[failed.state] : stepWords.steps(count)}`;
}

function getTitle({ name }: ChatToolCall, titles: Titles): string {
  return titles[name] ?? name;
}
