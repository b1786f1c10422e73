import type { LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { ChatDelta } from "@sluice/core";

/** A part of an answer: text, thinking or a tool call. */
export type AnswerPart = Extract<
  LanguageModelV4StreamPart,
  { type: `${Kind}-${Phase}` | `tool-input-${Phase}` | "tool-call" }
>;

type Kind = "text" | "reasoning";
type Phase = "start" | "delta" | "end";

/**
 * Reads the deltas of an answer as parts. A tool call comes when the answer has ended, and only if it ended with its calls: one
 * that was cut, or that has no confirmed end, runs nothing.
 *
 * @throws the error that ended the answer
 */
export async function* partsOf(deltas: AsyncIterable<ChatDelta>): AsyncGenerator<AnswerPart, void> {
  const blocks = createBlocks();
  /** Ids of the calls whose arguments are shown while they come. */
  const shown = new Map<number, string>();
  const calls: AnswerPart[] = [];
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
        // some services give the id or the name later
        if (!delta.id || !delta.name) break;
        shown.set(delta.index, delta.id);
        yield { type: "tool-input-start", id: delta.id, toolName: delta.name };
        break;
      case "tool-call-delta": {
        const id = shown.get(delta.index);
        if (id !== undefined) yield { type: "tool-input-delta", id, delta: delta.arguments };
        break;
      }
      case "tool-call": {
        const { id, function: called } = delta.toolCall;
        const begun = shown.get(delta.index);
        if (begun !== undefined) yield { type: "tool-input-end", id: begun };
        calls.push({
          type: "tool-call",
          toolCallId: begun ?? id,
          toolName: called.name,
          input: called.arguments.trim() || "{}",
        });
        break;
      }
      case "finish":
        yield* blocks.close();
        if (delta.outcome === "tool-calls") yield* calls;
    }
}

/** Numbers the blocks of text and thinking, and opens and closes them. */
function createBlocks() {
  let open: Kind | undefined;
  let count = 0;
  return { add, close };

  function* add(kind: Kind, delta: string): Generator<AnswerPart> {
    if (open !== kind) {
      yield* close();
      open = kind;
      count += 1;
      yield { type: `${kind}-start`, id: `${count}` };
    }
    yield { type: `${kind}-delta`, id: `${count}`, delta };
  }

  function* close(): Generator<AnswerPart> {
    if (open) yield { type: `${open}-end`, id: `${count}` };
    open = undefined;
  }
}
