import { isRecord, parseJSON } from "../../transport/error-response.js";
import type { Issue, Outcome } from "../../types/errors.js";
import { createFold, type Fold } from "./accumulate.js";
import type { CallReader, createCallReader } from "./call-reader.js";
import type { AssistantMessage, ChatDelta, ChatResult, ChatTiming, ChatUsage } from "./delta.js";
import { findOddField } from "./odd-fields.js";

/** An object of the response's JSON. Any field may be missing or have any type. */
export type WireObject = Readonly<Record<string, unknown>>;

/** The counts that every model sends. */
export const tokenCounts = ["prompt_tokens", "completion_tokens", "total_tokens"] as const;

/** Converts the chunks of one response to deltas. It does not use the clock. */
export interface ResponseReader {
  /** True once any part of a response has arrived: a delta, a message, a `finish_reason` or usage. */
  readonly begun: boolean;
  /** True once a `finish_reason` has come. */
  readonly finished: boolean;
  /** The `finish_reason` so far; null before it arrives. */
  readonly finishReason: string | null;
  /** Reason why a complete response can't be used; undefined if it can. */
  readonly problem: string | undefined;
  /**
   * Id, model and time of the response, from its first chunk. Id and model are empty if it has none. `created`: Unix
   * seconds, 0 if it has none.
   */
  readonly head: { readonly id: string; readonly model: string; readonly created: number };
  /** Reads a chunk. Returns true if it carried content, a `finish_reason`, or usage after it. */
  read(chunk: WireObject): boolean;
  /** Ends the response: emits the closing deltas, `finish` last. */
  finish(): void;
  toResult(message: AssistantMessage, timing: ChatTiming): ChatResult;
}

declare const process: { readonly env: { readonly NODE_ENV?: string } };

const END = "choices.finish_reason";

/** Outcomes with their words for `finish_reason` in lower case. Some gateways send the words of another API. */
const outcomes: readonly (readonly [Outcome, string])[] = [
  ["length", "length max_tokens max_output_tokens model_length"],
  ["content-filter", "content_filter safety"],
  ["tool-calls", "tool_calls tool_use function_call"],
  ["insufficient-resource", "insufficient_system_resource"],
];

function findNamedOutcome(finishReason: string | null): Outcome | undefined {
  const word = finishReason?.toLowerCase() ?? "";
  return outcomes.find(([, words]) => words.split(" ").includes(word))?.[0];
}

const none: readonly unknown[] = [];

/**
 * Creates the reader of one response; `emit` gets the deltas of its first choice.
 *
 * @param createCalls creates the reader of tool calls, with the first call
 * @param warn gets, in development, one issue for fields of unexpected types, one for missing tool calls, and one for a
 *   missing end. Other choices have none
 * @param request with `n` > 1, the response is choice 0, otherwise the first choice that arrives
 * @param head gets the id, model and time of the response
 */
export function createResponseReader(
  emit: (delta: ChatDelta) => void,
  createCalls: CreateCalls,
  warn?: Warn,
  request?: object,
  head = { id: "", model: "", created: 0 },
): ResponseReader {
  const noteOddField = createOddFieldNote(warn);
  let calls: CallReader | undefined;
  /** The other choices, each with its reader. */
  const others = new Map<number, { reader: ResponseReader; fold: Fold }>();
  let firstIndex = ((request as { n?: number } | undefined)?.n ?? 1) > 1 ? 0 : undefined;
  let hasBegun = false;
  /** True once a delta has carried content; `carried` describes the current delta. */
  let started = false;
  let carried = false;
  let hasText = false;
  let chunks = 0;
  let finishReason: string | null = null;
  /** Text that the service marks as a refusal of the model. */
  let refusal: string | undefined;
  let usage: ChatUsage | undefined;
  let raw: unknown;

  return {
    get begun() {
      return hasBegun || others.size > 0 || usage !== undefined;
    },
    get finished() {
      return finishReason !== null;
    },
    get finishReason() {
      return finishReason;
    },
    get problem() {
      return calls?.problem ?? [...others.values()].find(({ reader }) => reader.problem)?.reader.problem;
    },
    head,
    read(chunk) {
      raw = chunk;
      isOdd = false;
      // the first id counts: some services give the last chunk another one
      head.id ||= readText(chunk.id);
      head.model ||= readText(chunk.model);
      if (head.created === 0 && typeof chunk.created === "number") head.created = chunk.created;
      let hasContent = false;
      for (const value of readList(chunk.choices)) {
        const choice = readEntry(value);
        if (choice && readChoice(choice)) hasContent = true;
      }
      const counts = readUsage(chunk.usage);
      if (isOdd) noteOddField?.(chunk);
      if (!counts) return hasContent;
      usage = counts;
      emit({ type: "usage", usage });
      return hasContent || finishReason !== null;
    },
    finish() {
      calls?.finish();
      for (const { reader } of others.values()) reader.finish();
      noteEnd(finishReason, isMissingCalls(), warn);
      emit({ type: "finish", finishReason, outcome: findOutcome() });
    },
    toResult(message, timing) {
      const tokens = usage?.completion_tokens;
      const seconds = (timing.totalMs - (timing.firstTokenMs ?? timing.totalMs)) / 1000;
      return {
        message,
        toolCalls: (message.tool_calls ?? []).map(({ id, function: call }) => ({
          id,
          ...call,
          input: parseJSON(call.arguments),
        })),
        finishReason,
        outcome: findOutcome(),
        ...(usage && { usage }),
        model: head.model,
        id: head.id,
        timing: tokens && seconds > 0 ? { ...timing, tokensPerSecond: tokens / seconds } : timing,
        ...(refusal !== undefined && { refusal }),
        ...(others.size > 0 && {
          alternatives: [...others]
            .sort(([a], [b]) => a - b)
            .map(([, { fold, reader }]) => ({ message: fold.message, finishReason: reader.finishReason })),
        }),
        raw,
      };
    },
  };

  /** Returns true if the finish reason announced tool calls, but none came. */
  function isMissingCalls(): boolean {
    return !calls?.count && findNamedOutcome(finishReason) === "tool-calls";
  }

  function findOutcome(): Outcome {
    if (finishReason === null) return "unconfirmed";
    if (isMissingCalls()) return hasText ? "complete" : "error";
    // services that send `stop` after tool calls mean `tool_calls`
    const fallback = calls?.count ? "tool-calls" : "complete";
    return findNamedOutcome(finishReason) ?? (/error/i.test(finishReason) ? "error" : fallback);
  }

  /** Reads a choice of a chunk. Returns true if it carried content or a finish reason. */
  function readChoice(choice: WireObject): boolean {
    const given = choice.index;
    const index = typeof given === "number" || typeof given === "string" ? Number(given) || 0 : 0;
    firstIndex ??= index;
    if (index !== firstIndex) return readOther(choice, index);
    chunks += 1;
    const reason = readText(choice.finish_reason);
    if (reason) finishReason = reason;
    // some services repeat the whole message beside or after the deltas: read it only if no delta came
    const part = readRecord(choice.delta);
    const delta = part ?? (started ? undefined : readRecord(choice.message));
    carried = false;
    if (delta) readDelta(delta, !part);
    hasBegun ||= reason !== "" || delta !== undefined;
    started ||= carried;
    return carried || reason !== "";
  }

  function readOther(choice: WireObject, index: number): boolean {
    let other = others.get(index);
    if (!other) {
      const fold = createFold();
      // only the first choice decides the end of the response
      other = { fold, reader: createResponseReader(fold.add, createCalls) };
      others.set(index, other);
    }
    return other.reader.read({ choices: [choice] });
  }

  /** Reads the content of a delta, or of a whole message: thinking, text, a refusal and calls. */
  function readDelta(delta: WireObject, isMessage: boolean): void {
    const { content, tool_calls: parts, function_call: call } = delta;
    push("reasoning-delta", readText(delta.reasoning_content) || readText(delta.reasoning));
    if (typeof content === "string") push("text-delta", content);
    else for (const part of readList(content)) readPart(readEntry(part));
    const refused = readText(delta.refusal);
    if (refused) {
      refusal = (refusal ?? "") + refused;
      carried = true;
    }
    // the older form of a call: at most one per response, without an id
    const entries = parts == null ? (call ? [{ function: call }] : none) : readList(parts);
    for (const one of entries) {
      calls ??= createCalls(emit);
      if (calls.read(one, chunks, isMessage)) carried = true;
    }
  }

  function readPart(part: WireObject | undefined): void {
    const thinking = part?.thinking;
    if (part?.type !== "thinking" || !thinking) push("text-delta", readText(part?.text));
    else if (typeof thinking === "string") push("reasoning-delta", thinking);
    else
      for (const thought of readList(thinking)) push("reasoning-delta", readText(readEntry(thought)?.text));
  }

  function push(type: "text-delta" | "reasoning-delta", text: string): void {
    if (text === "") return;
    carried = true;
    hasText ||= type === "text-delta";
    emit({ type, text });
  }
}

/** Reads the usage of a chunk; undefined if a count is not a number. */
function readUsage(value: unknown): ChatUsage | undefined {
  const counts = readRecord(value);
  if (!counts) return undefined;
  const isInvalid = tokenCounts.some((name) => counts[name] != null && typeof counts[name] !== "number");
  isOdd ||= isInvalid;
  return isInvalid ? undefined : (counts as unknown as ChatUsage);
}

type Warn = (issue: Issue) => void;
type CreateCalls = typeof createCallReader;

/** Creates a function that warns about the first field of an unexpected type. Returns undefined in production. */
function createOddFieldNote(warn: Warn | undefined): ((chunk: WireObject) => void) | undefined {
  let isNoted = false;
  try {
    // read once: it is slow in Node
    if (process.env.NODE_ENV !== "production" && warn)
      return (chunk) => {
        if (isNoted) return;
        isNoted = true;
        warn({
          path: findOddField(chunk),
          message: "has an unexpected type: it was left out",
          rule: "chat.stream.unexpected-type",
        });
      };
  } catch {}
  return undefined;
}

/** Warns about an end without tool calls or without a `finish_reason`. Not in production. */
function noteEnd(finishReason: string | null, lacksCalls: boolean, warn: Warn | undefined): void {
  try {
    if (process.env.NODE_ENV !== "production" && warn) {
      if (lacksCalls)
        warn({
          path: END,
          message: `is ${finishReason}, and the response has no tool call: nothing is called`,
          rule: "chat.stream.calls-missing",
        });
      if (finishReason === null)
        warn({
          path: END,
          message:
            "did not come, though the response has ended: a part of it may be missing, and no tool runs",
          rule: "chat.unconfirmed",
        });
    }
  } catch {}
}

// a field of an unexpected type counts as absent

/** True once a field of the current chunk had an unexpected type. */
let isOdd = false;

/** Reads a text; empty if absent. */
export function readText(value: unknown): string {
  return typeof value === "string" ? value : readAbsent(value, "");
}

function readList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : readAbsent(value, none);
}

/** Reads an object. */
export function readRecord(value: unknown): WireObject | undefined {
  return isRecord(value) ? value : readAbsent(value, undefined);
}

/** Reads an entry of a list. Null is unexpected. */
export function readEntry(value: unknown): WireObject | undefined {
  return readRecord(value ?? "null");
}

function readAbsent<Value>(value: unknown, instead: Value): Value {
  isOdd ||= value != null;
  return instead;
}
