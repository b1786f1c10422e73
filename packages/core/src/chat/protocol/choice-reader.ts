import { createCallReader } from "./call-reader.js";
import type { ChatDelta, ChatOutcome } from "./delta.js";
import type { FieldReader, WireObject } from "./field-reader.js";

/** Turns the chunks of one choice into deltas. It keeps the open tool calls, which span chunks. */
export interface ChoiceReader {
  readonly finishReason: string | null;
  /** Text of the model in place of an answer, where the service marks it as a refusal. */
  readonly refusal: string | undefined;
  readonly outcome: ChatOutcome;
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
export function createChoiceReader(emit: (delta: ChatDelta) => void, fields: FieldReader): ChoiceReader {
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
    get outcome(): ChatOutcome {
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

const outcomes = new Map<string | null, ChatOutcome>([
  ["length", "length"],
  ["content_filter", "content-filter"],
  ["tool_calls", "tool-calls"],
  ["function_call", "tool-calls"],
  ["insufficient_system_resource", "insufficient-resource"],
]);
