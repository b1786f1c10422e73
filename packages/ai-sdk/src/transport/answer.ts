import type { ChatResult, ChatStream } from "@sluice/core";
import type { UIMessageChunk } from "ai";
import { type AnswerPart, partsOf } from "../chat/parts.js";
import { finishReasonOf } from "../chat/usage.js";
import { admit, type ToolContext } from "./tools.js";

/** One answer of the gateway, as the chunks of a step. */
export interface Step {
  readonly stream: ChatStream;
  readonly context: ToolContext;
  /** Chunks before those of the answer: the start of its message. Sent with the first part. */
  readonly opening: Iterable<UIMessageChunk>;
  readonly metadataOf: ((turn: ChatResult) => unknown) | undefined;
  /** Called when the answer is whole, before a tool runs. */
  readonly onWhole: () => Promise<unknown>;
}

/**
 * Writes an answer as chunks. Its tools run when it is whole.
 *
 * @throws the error that ended the answer: a text that is cut stays unfinished
 */
export async function* chunksOf(step: Step): AsyncGenerator<UIMessageChunk, void> {
  const { stream, opening, metadataOf, context } = step;
  const parts = partsOf(stream);
  const calls: Extract<AnswerPart, { type: "tool-call" }>[] = [];
  let hasBegun = false;
  for await (const part of parts) {
    // after a refusal there is no message
    if (!hasBegun) yield* begun();
    if (part.type === "tool-call") calls.push(part);
    else yield* chunkOf(part, context);
  }
  if (!hasBegun) yield* begun();
  const turn = await stream.result();
  // before the tools: an answer that is resumed must not run them twice
  if (calls.length > 0) await step.onWhole();
  yield* runAll(calls, context);
  yield { type: "finish-step" };
  const messageMetadata = metadataOf?.(turn);
  yield {
    type: "finish",
    finishReason: finishReasonOf(turn).unified,
    ...(messageMetadata !== undefined && { messageMetadata }),
  };
  if (calls.length === 0) await step.onWhole();

  function* begun(): Generator<UIMessageChunk> {
    hasBegun = true;
    yield* opening;
    yield { type: "start-step" };
  }
}

function* chunkOf(part: AnswerPart, { tools }: ToolContext): Generator<UIMessageChunk> {
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

/** Runs all calls of an answer that may run, in parallel. Results come in the order of the calls. */
async function* runAll(
  calls: readonly Extract<AnswerPart, { type: "tool-call" }>[],
  context: ToolContext,
): AsyncGenerator<UIMessageChunk, void> {
  const running = [];
  for (const { toolCallId, toolName, input: text } of calls) {
    const { chunks, run } = await admit({ toolCallId, toolName, text, input: parsed(text) }, context);
    yield* chunks;
    if (run) running.push(run());
  }
  for (const result of running) yield await result;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
