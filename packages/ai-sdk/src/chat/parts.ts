import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { ChatDelta } from "@sluice/core";

/** A part of a message: text, thinking or a tool call. */
export type MessagePart = Extract<
  LanguageModelV4StreamPart,
  { type: `${Kind}-${Phase}` | `tool-input-${Phase}` | "tool-call" }
>;

type Kind = "text" | "reasoning";
type Phase = "start" | "delta" | "end";

/**
 * Converts the deltas of a message to parts. Tool calls come last, and only if the message ended with its calls: no
 * tool runs for a message that was cut or lacks a confirmed end.
 *
 * @throws the error that ended the message
 */
export async function* readParts(deltas: AsyncIterable<ChatDelta>): AsyncGenerator<MessagePart, void> {
  const blocks = createBlocks();
  /** Ids by index of the calls whose arguments stream to the SDK. */
  const startedCalls = new Map<number, string>();
  const calls: MessagePart[] = [];
  for await (const delta of deltas)
    switch (delta.type) {
      case "text-delta":
        yield* blocks.add("text", delta.text);
        break;
      case "reasoning-delta":
        yield* blocks.add("reasoning", delta.text);
        break;
      case "tool-call-start":
        yield* blocks.close();
        // some services send the id or the name later
        if (!delta.id || !delta.name) break;
        startedCalls.set(delta.index, delta.id);
        yield { type: "tool-input-start", id: delta.id, toolName: delta.name };
        break;
      case "tool-call-delta": {
        const id = startedCalls.get(delta.index);
        if (id !== undefined) yield { type: "tool-input-delta", id, delta: delta.arguments };
        break;
      }
      case "tool-call": {
        const { id, function: calledFunction } = delta.toolCall;
        const startedId = startedCalls.get(delta.index);
        if (startedId !== undefined) yield { type: "tool-input-end", id: startedId };
        calls.push({
          type: "tool-call",
          toolCallId: startedId ?? id,
          toolName: calledFunction.name,
          input: calledFunction.arguments.trim() || "{}",
        });
        break;
      }
      case "finish":
        yield* blocks.close();
        if (delta.outcome === "tool-calls") yield* calls;
    }
}

/** Groups the deltas into numbered blocks of text or thinking. */
function createBlocks() {
  let openKind: Kind | undefined;
  let count = 0;
  return { add, close };

  function* add(kind: Kind, delta: string): Generator<MessagePart> {
    if (openKind !== kind) {
      yield* close();
      openKind = kind;
      count += 1;
      yield { type: `${kind}-start`, id: `${count}` };
    }
    yield { type: `${kind}-delta`, id: `${count}`, delta };
  }

  function* close(): Generator<MessagePart> {
    if (openKind) yield { type: `${openKind}-end`, id: `${count}` };
    openKind = undefined;
  }
}
