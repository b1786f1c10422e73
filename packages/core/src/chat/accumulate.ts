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
  switch (delta.type) {
    case "text-delta":
      return { ...message, content: message.content + delta.text };
    case "reasoning-delta":
      return { ...message, reasoning_content: (message.reasoning_content ?? "") + delta.text };
    case "tool-call-start":
      return withCall(message, delta.index, () => ({
        id: delta.id,
        type: "function",
        function: { name: delta.name, arguments: "" },
      }));
    case "tool-call-delta":
      return withCall(message, delta.index, (call) => ({
        ...call,
        function: { ...call.function, arguments: call.function.arguments + delta.arguments },
      }));
    case "tool-call":
      return withCall(message, delta.index, () => delta.toolCall);
    default:
      return message;
  }
}

function withCall(message: ChatMessage, index: number, change: (call: ToolCall) => ToolCall): ChatMessage {
  const calls = [...(message.tool_calls ?? [])];
  calls[index] = change(calls[index] as ToolCall);
  return { ...message, tool_calls: calls };
}
