import type { ChatDelta, ChatMessage } from "./delta.js";
import type { ToolCall } from "./schema.js";

/** The message before the first delta. */
export const emptyMessage: ChatMessage = Object.freeze({ role: "assistant", content: "" });

/**
 * Folds one delta into the message: pure, and what did not change keeps its identity.
 *
 * @example
 * ```ts
 * const message = deltas.reduce(accumulate, emptyMessage);
 * ```
 */
export function accumulate(message: ChatMessage, delta: ChatDelta): ChatMessage {
  if (delta.type === "text-delta") return { ...message, content: message.content + delta.text };
  if (delta.type === "reasoning-delta")
    return { ...message, reasoning_content: (message.reasoning_content ?? "") + delta.text };
  if (!("index" in delta)) return message;
  const calls = [...(message.tool_calls ?? [])];
  calls[delta.index] = callAfter(calls[delta.index], delta);
  return { ...message, tool_calls: calls };
}

/** A message that is being folded. */
export interface Fold {
  add(delta: ChatDelta): void;
  /** The message so far; what was read before does not change. */
  readonly message: ChatMessage;
}

/** Creates a fold whose cost is linear in the deltas: tool calls are copied only when the message is read. */
export function createFold(): Fold {
  const calls: ToolCall[] = [];
  let message = emptyMessage;
  let isStale = false;
  return {
    add(delta) {
      if ("index" in delta) {
        calls[delta.index] = callAfter(calls[delta.index], delta);
        isStale = true;
      } else message = accumulate(message, delta);
    },
    get message() {
      if (isStale) message = { ...message, tool_calls: [...calls] };
      isStale = false;
      return message;
    },
  };
}

function callAfter(call: ToolCall | undefined, delta: ChatDelta & { index: number }): ToolCall {
  if (delta.type === "tool-call") return delta.toolCall;
  const { id, function: fn } =
    delta.type === "tool-call-start"
      ? { id: delta.id, function: { name: delta.name, arguments: "" } }
      : (call as ToolCall);
  const more = delta.type === "tool-call-delta" ? delta.arguments : "";
  return { id, type: "function", function: { name: fn.name, arguments: fn.arguments + more } };
}
