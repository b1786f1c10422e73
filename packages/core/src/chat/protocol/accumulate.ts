import type { AssistantMessage, ChatDelta } from "./delta.js";
import type { ToolCall } from "./message-schema.js";

/**
 * The message before the first delta.
 */
export const emptyMessage: AssistantMessage = Object.freeze({ role: "assistant", content: "" });

/**
 * Adds one delta to a message and returns the new message. A pure function: unchanged parts stay the same objects.
 *
 * @param message the message so far; undefined before the first delta
 * @example
 * ```ts
 * let message: AssistantMessage | undefined;
 * for await (const delta of streamChat(client, request)) message = applyDelta(message, delta);
 * ```
 */
export function applyDelta(message: AssistantMessage | undefined, delta: ChatDelta): AssistantMessage {
  const fold = createFold(message);
  fold.add(delta);
  return fold.message;
}

/** A fold of deltas into a message. */
export interface Fold {
  add(delta: ChatDelta): void;
  /** The message so far: the same object until the next change. Never modified. */
  readonly message: AssistantMessage;
}

/**
 * Number of deltas after which the engine copies a text into one piece. Engines append by reference: a long text would
 * stay a tree of its deltas, which takes several times its size.
 */
const COPIED_AFTER = 1000;

/** Creates a fold of linear cost: it builds the message only on access. */
export function createFold(start: AssistantMessage = emptyMessage): Fold {
  let { content, reasoning_content: reasoning, tool_calls: shownCalls } = start;
  let message: AssistantMessage | undefined = start;
  let calls: ToolCall[] | undefined;
  let added = 0;
  return {
    add(delta) {
      added += 1;
      // reading a character makes the engine copy the text
      if (added % COPIED_AFTER === 0) for (const text of [content, reasoning]) text?.charCodeAt(0);
      if (delta.type === "text-delta") content += delta.text;
      else if (delta.type === "reasoning-delta") reasoning = (reasoning ?? "") + delta.text;
      else if ("index" in delta) {
        calls ??= [...(shownCalls ?? [])];
        calls[delta.index] = extendCall(calls[delta.index], delta);
        shownCalls = undefined;
      } else return;
      message = undefined;
    },
    get message() {
      if (calls) shownCalls ??= [...calls];
      message ??= {
        role: "assistant",
        content,
        ...(reasoning !== undefined && { reasoning_content: reasoning }),
        ...(shownCalls && { tool_calls: shownCalls }),
      };
      return message;
    },
  };
}

function extendCall(call: ToolCall | undefined, delta: ChatDelta & { index: number }): ToolCall {
  if (delta.type === "tool-call") return delta.toolCall;
  const { id, function: fn } =
    delta.type === "tool-call-start"
      ? { id: delta.id, function: { name: delta.name, arguments: "" } }
      : (call as ToolCall);
  const more = delta.type === "tool-call-delta" ? delta.arguments : "";
  return { id, type: "function", function: { name: fn.name, arguments: fn.arguments + more } };
}
