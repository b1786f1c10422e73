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

const FAULT_TOKENS = 24;

/**
 * Cuts a draft at `stop`, by the faults that cut, and at `max_tokens`. Thinking counts towards `max_tokens`, but uses
 * at most half of it.
 *
 * @param id part of the ids of tool calls, `call_<id>_0` and so on
 */
export function applyBudget(draft: Draft, job: ChatJob, id: string): Reply {
  let content = tokenize(cutAtStop(draft.content, job.stops));
  const calls = draft.calls.map(({ name, arguments: text }) => ({ name, fragments: tokenize(text) }));
  let finishReason: Reply["finishReason"] = calls.length > 0 ? "tool_calls" : "stop";
  for (const [fault, reason] of [
    ["length", "length"],
    ["filter", "content_filter"],
  ] as const) {
    if (!job.faults.names.has(fault) || content.length === 0) continue;
    content = content.slice(0, FAULT_TOKENS);
    finishReason = reason;
  }

  const said = content.length + sum(calls.map(({ fragments }) => fragments.length));
  const thought = tokenize(draft.reasoning);
  if (thought.length + said <= job.maxTokens)
    return { reasoning: thought, content, calls: addIds(calls), finishReason };

  const reasoning = thought.slice(0, Math.floor(job.maxTokens / 2));
  let remaining = job.maxTokens - reasoning.length;
  if (said > remaining) finishReason = "length";
  const fitting = content.slice(0, remaining);
  remaining -= fitting.length;
  const callsInPart = calls.flatMap(({ name, fragments }) => {
    const part = fragments.slice(0, remaining);
    remaining -= part.length;
    return part.length > 0 ? [{ name, fragments: part }] : [];
  });
  return { reasoning, content: fitting, calls: addIds(callsInPart), finishReason };

  function addIds(list: readonly { name: string; fragments: string[] }[]): Reply["calls"] {
    return list.map((call, index) => ({ id: `call_${id}_${index}`, ...call }));
  }
}

/** Counts the tokens of a reply, thinking included. */
export function countCompletionTokens({ reasoning, content, calls }: Reply): number {
  return reasoning.length + content.length + sum(calls.map(({ fragments }) => fragments.length));
}

function cutAtStop(text: string, stops: readonly string[]): string {
  const starts = stops.map((stop) => text.indexOf(stop)).filter((start) => start >= 0);
  return starts.length > 0 ? text.slice(0, Math.min(...starts)) : text;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
