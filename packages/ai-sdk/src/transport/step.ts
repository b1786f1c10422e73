import type { ChatResult, ChatStream } from "@sluice/core";
import type { UIMessageChunk } from "ai";
import { type MessagePart, readParts } from "../chat/parts.js";
import { toFinishReason } from "../chat/usage.js";
import { checkCall, type ToolContext } from "./tools.js";

/** One message of the gateway, as the chunks of a step. */
export interface Step {
  readonly stream: ChatStream;
  readonly context: ToolContext;
  /** Chunks before the message: the start of the UI message. Sent with the first part. */
  readonly opening: Iterable<UIMessageChunk>;
  readonly createMetadata: ((result: ChatResult) => unknown) | undefined;
  /** Runs when the message is complete, before its tools run. */
  readonly onComplete: () => Promise<unknown>;
}

/**
 * Converts a message to chunks. Its tools run when it is complete.
 *
 * @throws the error that ended the message: an incomplete text stays unfinished
 */
export async function* streamChunks(step: Step): AsyncGenerator<UIMessageChunk, void> {
  const { stream, opening, createMetadata, context } = step;
  const parts = readParts(stream);
  const calls: Extract<MessagePart, { type: "tool-call" }>[] = [];
  let hasBegun = false;
  for await (const part of parts) {
    // not earlier: a refused request must not create a message
    if (!hasBegun) yield* begin();
    if (part.type === "tool-call") calls.push(part);
    else yield* toChunk(part, context);
  }
  if (!hasBegun) yield* begin();
  const result = await stream.result();
  // before the tools run: a resumed message must not run them twice
  if (calls.length > 0) await step.onComplete();
  yield* runCalls(calls, context);
  yield { type: "finish-step" };
  const messageMetadata = createMetadata?.(result);
  yield {
    type: "finish",
    finishReason: toFinishReason(result).unified,
    ...(messageMetadata !== undefined && { messageMetadata }),
  };
  if (calls.length === 0) await step.onComplete();

  function* begin(): Generator<UIMessageChunk> {
    hasBegun = true;
    yield* opening;
    yield { type: "start-step" };
  }
}

function* toChunk(part: MessagePart, { tools }: ToolContext): Generator<UIMessageChunk> {
  switch (part.type) {
    case "tool-input-start": {
      const dynamic = Object.hasOwn(tools, part.toolName) && tools[part.toolName]?.type === "dynamic";
      yield { type: part.type, toolCallId: part.id, toolName: part.toolName, ...(dynamic && { dynamic }) };
      break;
    }
    case "tool-input-delta":
      yield { type: part.type, toolCallId: part.id, inputTextDelta: part.delta };
      break;
    case "tool-input-end":
    case "tool-call":
      break;
    default:
      yield part;
  }
}

/** Checks the calls of a message, and runs the allowed calls in parallel. Results keep the order of the calls. */
async function* runCalls(
  calls: readonly Extract<MessagePart, { type: "tool-call" }>[],
  context: ToolContext,
): AsyncGenerator<UIMessageChunk, void> {
  const running = [];
  for (const { toolCallId, toolName, input: text } of calls) {
    const { chunks, run } = await checkCall({ toolCallId, toolName, text, input: parseInput(text) }, context);
    yield* chunks;
    if (run) running.push(run());
  }
  for (const result of running) yield await result;
}

function parseInput(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
