import type { ChatJob } from "./job.js";
import type { Draft } from "./reply.js";
import { tokenize } from "./tokens.js";

/** A reply in tokens, within its limits. */
export interface Reply {
  readonly reasoning: readonly string[];
  readonly content: readonly string[];
  readonly calls: readonly {
    readonly id: string;
    readonly name: string;
    readonly fragments: readonly string[];
  }[];
  readonly finishReason: "stop" | "length" | "content_filter" | "tool_calls";
}

/** Tokens of a reply that the faults `length` and `filter` cut. */
const FAULT_TOKENS = 24;

/**
 * Cuts a draft at `stop`, by the faults `length` and `filter`, and at `max_tokens`. Thinking counts towards
 * `max_tokens`, and uses at most half of it.
 *
 * @param id infix of the ids of tool calls, `call_<id>_0`
 */
export function applyBudget(draft: Draft, job: ChatJob, id: string): Reply {
  let content = tokenize(cutAtStop(draft.content, job.stops));
  const thinking = tokenize(draft.reasoning);
  const calls = draft.calls.map((call, index) => ({
    id: `call_${id}_${index}`,
    name: call.name,
    fragments: tokenize(call.arguments),
  }));
  let finishReason: Reply["finishReason"] = calls.length > 0 ? "tool_calls" : "stop";
  for (const [fault, reason] of [
    ["length", "length"],
    ["filter", "content_filter"],
  ] as const) {
    if (!job.faults.names.has(fault) || content.length === 0) continue;
    content = content.slice(0, FAULT_TOKENS);
    finishReason = reason;
  }

  const whole = { reasoning: thinking, content, calls, finishReason };
  const tokens = countCompletionTokens(whole);
  if (tokens <= job.maxTokens) return whole;

  const reasoning = thinking.slice(0, Math.floor(job.maxTokens / 2));
  let remaining = job.maxTokens - reasoning.length;
  if (tokens - thinking.length > remaining) finishReason = "length";
  const fittingContent = content.slice(0, remaining);
  remaining -= fittingContent.length;
  const fittingCalls = calls.flatMap((call) => {
    const fragments = call.fragments.slice(0, remaining);
    remaining -= fragments.length;
    return fragments.length > 0 ? [{ ...call, fragments }] : [];
  });
  return { reasoning, content: fittingContent, calls: fittingCalls, finishReason };
}

/** Counts the tokens of a reply, thinking included. */
export function countCompletionTokens({ reasoning, content, calls }: Reply): number {
  const inCalls = calls.reduce((total, { fragments }) => total + fragments.length, 0);
  return reasoning.length + content.length + inCalls;
}

function cutAtStop(text: string, stops: readonly string[]): string {
  const starts = stops.map((stop) => text.indexOf(stop)).filter((start) => start >= 0);
  return starts.length > 0 ? text.slice(0, Math.min(...starts)) : text;
}
