import { parseJSON } from "../../transport/error-response.js";
import type { Issue } from "../../vocabulary/errors.js";
import { createFold, type Fold } from "./accumulate.js";
import { type ChoiceReader, createChoiceReader } from "./choice-reader.js";
import type { ChatDelta, ChatMessage, ChatOutcome, ChatUsage } from "./delta.js";
import { createFieldReader, type WireObject } from "./field-reader.js";

/** A tool call that the model made. */
export interface ChatToolCall {
  /** Id of the call; the `tool` message with its result carries it as `tool_call_id`. */
  readonly id: string;
  /** Name of the function, as in `tools`. */
  readonly name: string;
  /** The arguments as the model wrote them. */
  readonly arguments: string;
  /** The arguments as a value; undefined where the text is not valid JSON, as in an answer that was cut. */
  readonly input: unknown;
}

/** Speed of an answer, measured from the call of `streamChat` or `completeChat`. */
export interface ChatTiming {
  /** Milliseconds until the first text, thinking or tool call; undefined where none came. */
  readonly firstTokenMs?: number;
  /** Milliseconds until the end of the answer. */
  readonly totalMs: number;
  /** `usage.completion_tokens` over the time after the first token; undefined without usage. */
  readonly tokensPerSecond?: number;
}

/** Another answer to the same request, from services that support `n` > 1. */
export interface ChatAlternative {
  /** The message. Append it to `messages` in place of the first answer. */
  readonly message: ChatMessage;
  /** `finish_reason` as the gateway sent it; null where it sent none. */
  readonly finishReason: string | null;
}

/** A whole answer. */
export interface ChatTurn {
  /** Message of the model. Append it to `messages` for the next request. */
  readonly message: ChatMessage;
  /** Tool calls of the answer, with their arguments as values. Empty where there are none. */
  readonly toolCalls: readonly ChatToolCall[];
  /** `finish_reason` as the gateway sent it; null where it sent none, and the outcome is `unconfirmed`. */
  readonly finishReason: string | null;
  /** Ending of the answer. Only `complete` and `tool-calls` are whole answers. */
  readonly outcome: ChatOutcome;
  /** Tokens that were used; absent where the gateway did not report them. */
  readonly usage?: ChatUsage;
  /** Model that answered. The request's model where the answer names none. */
  readonly model: string;
  /** Id of the answer; empty where it has none. */
  readonly id: string;
  /** Speed of the answer. */
  readonly timing: ChatTiming;
  /** Reason why the model refused to answer, where it gave one. */
  readonly refusal?: string;
  /** The other answers of a request with `n` > 1; absent where there is only one. */
  readonly alternatives?: readonly ChatAlternative[];
  /** Answer of the gateway, unchanged, with unknown fields; of a stream, the last chunk. */
  readonly raw: unknown;
}

/** The counts that every model sends. */
export const tokenCounts = ["prompt_tokens", "completion_tokens", "total_tokens"] as const;

/** Reads the chunks of one answer into deltas. It does not know the time. */
export interface AnswerReader {
  /** True once a part of an answer has come: a delta, a message, a `finish_reason` or usage. */
  readonly begun: boolean;
  /** True once a `finish_reason` has come. */
  readonly finished: boolean;
  /** Reason why the answer can't be read, though it is whole; undefined where it can. */
  readonly problem: string | undefined;
  /**
   * Id, model and time of the answer, from its first chunk. Id and model are empty where it has none. `created`: Unix
   * seconds, 0 where it has none.
   */
  readonly head: { readonly id: string; readonly model: string; readonly created: number };
  /** Reads a chunk. Returns true if it carried content, a `finish_reason`, or usage after it. */
  read(chunk: WireObject): boolean;
  /** Ends the answer: emits the deltas that close it, `finish` last. */
  finish(): void;
  turn(message: ChatMessage, timing: ChatTiming): ChatTurn;
}

/**
 * Creates the reader of one answer; `emit` gets the deltas of its first choice.
 *
 * @param warn gets one issue for fields of unexpected types, for tool calls that are missing, and for a missing end
 * @param several true for a request with `n` > 1: the answer is then choice 0, otherwise the choice that comes first
 */
export function createAnswerReader(
  emit: (delta: ChatDelta) => void,
  warn: (issue: Issue) => void,
  several = false,
): AnswerReader {
  let hasWarned = false;
  const fields = createFieldReader(unexpected);
  const { text, list, record, entry } = fields;
  const first = createChoiceReader(emit, fields);
  const others = new Map<number, { reader: ChoiceReader; fold: Fold }>();
  const head = { id: "", model: "", created: 0 };
  let firstIndex = several ? 0 : undefined;
  let usage: ChatUsage | undefined;
  let raw: unknown;

  return {
    get begun() {
      return first.begun || others.size > 0 || usage !== undefined;
    },
    get finished() {
      return first.finishReason !== null;
    },
    get problem() {
      return [first, ...[...others.values()].map(({ reader }) => reader)].find(({ problem }) => problem)
        ?.problem;
    },
    head,
    read(chunk) {
      raw = chunk;
      // the first one counts: some services give the last chunk another id
      head.id ||= text(chunk.id, "id");
      head.model ||= text(chunk.model, "model");
      if (head.created === 0 && typeof chunk.created === "number") head.created = chunk.created;
      let carried = false;
      for (const value of list(chunk.choices, "choices")) {
        const choice = entry(value, "choices");
        if (choice && readerOf(choice.index).read(choice)) carried = true;
      }
      const counts = usageOf(chunk.usage);
      if (!counts) return carried;
      usage = counts;
      emit({ type: "usage", usage });
      return carried || first.finishReason !== null;
    },
    finish() {
      first.finish();
      for (const { reader } of others.values()) reader.finish();
      const { finishReason, outcome, lacksCalls } = first;
      if (lacksCalls)
        warn({
          path: "choices.finish_reason",
          message: `is ${finishReason}, and the answer has no tool call: nothing is called`,
          rule: "chat.stream.calls-missing",
        });
      if (outcome === "unconfirmed")
        warn({
          path: "choices.finish_reason",
          message: "did not come, though the answer has ended: a part of it may be missing, and no tool runs",
          rule: "chat.unconfirmed",
        });
      emit({ type: "finish", finishReason, outcome });
    },
    turn(message, timing) {
      const { finishReason, refusal, outcome } = first;
      const tokens = usage?.completion_tokens;
      const seconds = (timing.totalMs - (timing.firstTokenMs ?? timing.totalMs)) / 1000;
      return {
        message,
        toolCalls: (message.tool_calls ?? []).map(({ id, function: call }) => ({
          id,
          name: call.name,
          arguments: call.arguments,
          input: parseJSON(call.arguments),
        })),
        finishReason,
        outcome,
        ...(usage && { usage }),
        model: head.model,
        id: head.id,
        timing: tokens && seconds > 0 ? { ...timing, tokensPerSecond: tokens / seconds } : timing,
        ...(refusal !== undefined && { refusal }),
        ...(others.size > 0 && { alternatives: alternatives() }),
        raw,
      };
    },
  };

  function unexpected(path: string): void {
    if (!hasWarned)
      warn({ path, message: "has an unexpected type: it was left out", rule: "chat.stream.unexpected-type" });
    hasWarned = true;
  }

  function usageOf(value: unknown): ChatUsage | undefined {
    const counts = record(value, "usage");
    if (!counts) return undefined;
    const odd = tokenCounts.find((name) => counts[name] != null && typeof counts[name] !== "number");
    if (odd) unexpected(`usage.${odd}`);
    return odd ? undefined : (counts as unknown as ChatUsage);
  }

  function readerOf(given: unknown): ChoiceReader {
    if (given === firstIndex && given !== undefined) return first;
    const index = typeof given === "number" || typeof given === "string" ? Number(given) || 0 : 0;
    firstIndex ??= index;
    return index === firstIndex ? first : alternative(index);
  }

  function alternative(index: number): ChoiceReader {
    const known = others.get(index);
    if (known) return known.reader;
    const fold = createFold();
    const reader = createChoiceReader(fold.add, fields);
    others.set(index, { reader, fold });
    return reader;
  }

  function alternatives(): ChatAlternative[] {
    return [...others]
      .sort(([a], [b]) => a - b)
      .map(([, { fold, reader }]) => ({ message: fold.message, finishReason: reader.finishReason }));
  }
}
