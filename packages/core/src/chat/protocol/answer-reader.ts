import { isRecord, parseJSON } from "../../transport/error-response.js";
import type { Issue, Outcome } from "../../vocabulary/errors.js";
import { createFold, type Fold } from "./accumulate.js";
import { createCallReader } from "./call-reader.js";
import type {
  AssistantMessage,
  ChatAlternative,
  ChatDelta,
  ChatResult,
  ChatTiming,
  ChatUsage,
} from "./delta.js";

/** An object of the answer's JSON. Any field may be missing, or have any type. */
export type WireObject = Readonly<Record<string, unknown>>;

/** Reads fields of any type. A field of an unexpected type is read as absent. */
export interface FieldReader {
  /** Text; empty where it is absent. */
  text(value: unknown, path: string): string;
  /** Entries of an array; none where it is absent. */
  list(value: unknown, path: string): readonly unknown[];
  record(value: unknown, path: string): WireObject | undefined;
  /** An entry of an array, where null is unexpected. */
  entry(value: unknown, path: string): WireObject | undefined;
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
  turn(message: AssistantMessage, timing: ChatTiming): ChatResult;
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

/** Turns the chunks of one choice into deltas. It keeps the open tool calls, which span chunks. */
interface ChoiceReader {
  readonly finishReason: string | null;
  /** Text of the model in place of an answer, where the service marks it as a refusal. */
  readonly refusal: string | undefined;
  readonly outcome: Outcome;
  /** True if the finish reason announced tool calls, and none came. */
  readonly lacksCalls: boolean;
  /** Reason why no tool of the answer can run; undefined where all can. */
  readonly problem: string | undefined;
  /** True once a delta, a message or a finish reason has come. */
  readonly begun: boolean;
  /** Reads a choice of a chunk. Returns true if it carried content or a finish reason. */
  read(choice: WireObject): boolean;
  /** Ends the choice: its tool calls are whole. */
  finish(): void;
}

/** Creates the reader of one choice; `emit` gets its deltas in order. */
function createChoiceReader(emit: (delta: ChatDelta) => void, fields: FieldReader): ChoiceReader {
  const { text, list, record, entry } = fields;
  const calls = createCallReader(emit, fields);
  let hasText = false;
  /** True once the deltas have brought content. `carried` is the same for the current chunk. */
  let started = false;
  let carried = false;
  let chunks = 0;

  const choice = {
    finishReason: null as string | null,
    refusal: undefined as string | undefined,
    begun: false,
    get lacksCalls() {
      return calls.count === 0 && outcomes.get(choice.finishReason) === "tool-calls";
    },
    get problem() {
      return calls.problem;
    },
    get outcome(): Outcome {
      if (choice.finishReason === null) return "unconfirmed";
      if (choice.lacksCalls) return hasText ? "complete" : "error";
      // services that send `stop` after tool calls mean the calls
      const fallback = calls.count > 0 ? "tool-calls" : "complete";
      return outcomes.get(choice.finishReason) ?? (/error/i.test(choice.finishReason) ? "error" : fallback);
    },
    read(given: WireObject) {
      carried = false;
      chunks += 1;
      const reason = text(given.finish_reason, "choices.finish_reason");
      if (reason) choice.finishReason = reason;
      // some services repeat the whole message beside the deltas, or after them: it is read only where no delta came
      const part = record(given.delta, "choices.delta");
      const delta = part ?? (started ? undefined : record(given.message, "choices.message"));
      if (delta) readDelta(delta, !part);
      choice.begun ||= reason !== "" || delta !== undefined;
      started ||= carried;
      return carried || reason !== "";
    },
    finish: calls.finish,
  };
  return choice;

  function readDelta(delta: WireObject, isMessage: boolean): void {
    const { content } = delta;
    push(
      "reasoning-delta",
      text(delta.reasoning_content, "choices.delta.reasoning_content") ||
        text(delta.reasoning, "choices.delta.reasoning"),
    );
    if (typeof content === "string") push("text-delta", content);
    else for (const part of list(content, "choices.delta.content")) readPart(part);
    const refused = text(delta.refusal, "choices.delta.refusal");
    if (refused) {
      choice.refusal = (choice.refusal ?? "") + refused;
      carried = true;
    }
    if (delta.tool_calls != null)
      list(delta.tool_calls, "choices.delta.tool_calls").forEach((entry) => {
        if (calls.read(entry, chunks, isMessage)) carried = true;
      });
    // the older form of a call: at most one in an answer, and without an id
    else if (delta.function_call && calls.read({ function: delta.function_call }, chunks, isMessage))
      carried = true;
  }

  function readPart(value: unknown): void {
    const part = entry(value, "choices.delta.content");
    const thinking = part?.thinking;
    if (part?.type !== "thinking" || !thinking)
      push("text-delta", text(part?.text, "choices.delta.content.text"));
    else if (typeof thinking === "string") push("reasoning-delta", thinking);
    else
      for (const thought of list(thinking, "choices.delta.content.thinking"))
        push(
          "reasoning-delta",
          text(entry(thought, "choices.delta.content.thinking")?.text, "choices.delta.content.thinking.text"),
        );
  }

  function push(type: "text-delta" | "reasoning-delta", text: string): void {
    if (text === "") return;
    carried = true;
    hasText ||= type === "text-delta";
    emit({ type, text });
  }
}

const outcomes = new Map<string | null, Outcome>([
  ["length", "length"],
  ["content_filter", "content-filter"],
  ["tool_calls", "tool-calls"],
  ["function_call", "tool-calls"],
  ["insufficient_system_resource", "insufficient-resource"],
]);

const none: readonly unknown[] = [];

/** Creates a reader of fields; `onUnexpected` gets the path of each field that has an unexpected type. */
function createFieldReader(onUnexpected: (path: string) => void): FieldReader {
  return {
    text: (value, path) => (typeof value === "string" ? value : absent(value, path, "")),
    list: (value, path) => (Array.isArray(value) ? value : absent(value, path, none)),
    record: (value, path) => (isRecord(value) ? value : absent(value, path, undefined)),
    entry: (value, path) => (isRecord(value) ? value : absent(value ?? "null", path, undefined)),
  };

  function absent<Value>(value: unknown, path: string, instead: Value): Value {
    if (value !== undefined && value !== null) onUnexpected(path);
    return instead;
  }
}
