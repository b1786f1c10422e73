import {
  type AssistantMessage,
  type ChatRequest,
  type ChatUsage,
  type Client,
  isGatewayError,
  type RequestOptions,
  type StandardSchema,
  StreamError,
} from "@sluice/core";
import type { ChatTiming } from "@sluice/core/internal";
import {
  canReuseKey,
  createStreamPath,
  emptyMessage,
  notResumed,
  openStream,
  type ToolCall,
  toError,
  yieldToHost,
} from "@sluice/core/internal";
import { createGrowingJSON, type GrowingJSON, loadJSONReader } from "./growing-json.js";
import { type ChatMessage, type ChatToolCall, interruptedEnd, withCallsClosed } from "./message.js";

/** A response that is still streaming, as a message. */
export interface Response {
  /** The message so far; the same object until it grows. */
  readonly message: ChatMessage;
  /** True until the first text, thinking or tool call. */
  readonly isWaiting: boolean;
  /** Reads to the end of the answer, and calls `onDelta` after each delta. */
  read(onDelta: () => void): Promise<ChatMessage>;
  /** Ends the request; returns the message so far. */
  stop(): ChatMessage;
}

/** Time of reading deltas before the host may render, in milliseconds: half a frame. */
const SLICE_MS = 8;

/**
 * Sends a request and builds the draft of its answer. With an `outputSchema`, the text is read as JSON. Without a request, the
 * draft is an answer that the proxy has kept since the tab was closed. It is read again from its start.
 */
export function createResponse(
  client: Client,
  { streamId, ...draft }: ChatMessage,
  request: ChatRequest | undefined,
  { schema, ...options }: RequestOptions & { schema?: StandardSchema | undefined },
): Response {
  const { clock } = client;
  const { idempotencyKey } = draft;
  const source = request ? { request } : { streamId, path: createStreamPath(streamId) };
  const reading = request || client.resume ? client : { ...client, resume: notResumed };
  const stream = openStream(reading, { ...options, idempotencyKey }, source);
  const argumentReaders: GrowingJSON[] = [];
  const shownCalls = new WeakMap<ToolCall, ChatToolCall>();
  const objectReader = schema && createObjectReader();
  let textRead = 0;
  let isWhole = false;
  let usage: ChatUsage | undefined;
  let shown: { of: unknown; streamId: string | undefined; message: ChatMessage } | undefined;

  return {
    get message() {
      const { snapshot: of, streamId } = stream;
      if (shown?.of !== of || shown.streamId !== streamId)
        shown = { of, streamId, message: { ...messageSoFar(), ...(streamId && { streamId }) } };
      return shown.message;
    },
    get isWaiting() {
      return stream.snapshot === emptyMessage;
    },
    read,
    stop() {
      // from here on, the snapshot has deltas of this read that are not shown yet
      stream.abort();
      objectReader?.push(stream.snapshot.content.slice(textRead));
      return ended({ outcome: "stopped" }, stream.timing);
    },
  };

  async function read(onDelta: () => void): Promise<ChatMessage> {
    let sliceEnd = clock.now() + SLICE_MS;
    try {
      for await (const delta of stream) {
        if (delta.type === "usage") usage = delta.usage;
        else if (delta.type === "tool-call-start") argumentReaders[delta.index] = createGrowingJSON();
        else if (delta.type === "tool-call-delta") argumentReaders[delta.index]?.push(delta.arguments);
        else if (delta.type === "text-delta") {
          textRead += delta.text.length;
          objectReader?.push(delta.text);
        }
        onDelta();
        if (clock.now() < sliceEnd) continue;
        await yieldToHost();
        sliceEnd = clock.now() + SLICE_MS;
      }
      const { outcome, timing, finishReason } = await stream.result();
      // where this can't be loaded, the answer counts as kept: `retry` reads it again and pays nothing
      const reader = schema && outcome === "complete" && (await import("./structured-output.js"));
      isWhole = true;
      if (outcome === "error") throw endedByGateway(finishReason, stream.snapshot);
      if (objectReader) await loadJSONReader();
      const message = ended({ outcome }, timing);
      return reader ? await reader.withOutputValue(message, schema) : message;
    } catch (cause) {
      return ended(
        request || stream.streamId || saysWhy(cause) ? endOf(cause) : interruptedEnd(stream.snapshot.content),
        stream.timing,
        cause,
      );
    }
  }

  /** @param cause error of the stream, which decides if the request keeps its key for `retry` */
  function ended(
    end: Pick<ChatMessage, "outcome" | "error">,
    timing: ChatTiming,
    cause?: unknown,
  ): ChatMessage {
    const { idempotencyKey, ...known } = messageSoFar();
    const key = idempotencyKey && canReuseKey(cause) ? { idempotencyKey } : {};
    // the rest may still be there: `retry` asks for it before it requests another answer
    const rest = !isWhole && stream.streamId ? { streamId: stream.streamId } : {};
    const message = { ...known, ...key, ...rest, ...end, ...(usage && { usage }), timing };
    return end.outcome === "tool-calls"
      ? message
      : withCallsClosed(message, "the answer ended before the call was whole");
  }

  function messageSoFar(): ChatMessage {
    const { content, reasoning_content: reasoning, tool_calls: calls } = stream.snapshot;
    // the text shown before stays until it has been read again
    if (content.length + (reasoning?.length ?? 0) < draft.content.length + (draft.reasoning?.length ?? 0))
      return draft;
    return {
      ...draft,
      role: "assistant",
      content,
      ...(reasoning !== undefined && { reasoning }),
      ...(calls && { toolCalls: calls.map(shownCall) }),
      ...(objectReader?.value !== undefined && { output: objectReader.value }),
    };
  }

  function shownCall(call: ToolCall, index: number): ChatToolCall {
    const known = shownCalls.get(call);
    if (known) return known;
    const { name, arguments: text } = call.function;
    const input = argumentReaders[index]?.value;
    const fresh: ChatToolCall = { id: call.id, name, arguments: text, input, state: "streaming" };
    if (input !== undefined) shownCalls.set(call, fresh);
    return fresh;
  }
}

/** Outcome of an answer that is read again: its own outcome, or interrupted if the proxy no longer has it. */
function saysWhy(cause: unknown): boolean {
  return (
    isGatewayError(cause) &&
    cause.name === "StreamError" &&
    cause.code !== undefined &&
    cause.code !== "stream_interrupted"
  );
}

/** Makes the error of an answer that failed by its `finish_reason`, or that announced tool calls and made none. */
function endedByGateway(
  finishReason: string | null,
  partial: AssistantMessage,
): StreamError<AssistantMessage> {
  const text = `the answer failed (finish_reason ${finishReason}); ask again`;
  return new StreamError(text, { reason: "server-error", partial, code: finishReason ?? undefined });
}

function endOf(cause: unknown): Pick<ChatMessage, "outcome" | "error"> {
  const error = toError(cause);
  if (!isGatewayError(error))
    return error.name === "AbortError" ? { outcome: "stopped" } : { outcome: "error", error };
  const isCut = error.name === "StreamError" && error.reason === "truncated";
  return { outcome: isCut ? "truncated" : "error", error };
}

/** Finds the JSON in a text. It begins at the first bracket, because models write words around it. */
function createObjectReader(): { push: (text: string) => void; readonly value: unknown } {
  const reader = createGrowingJSON();
  let begun = false;
  return {
    push(text) {
      const start = begun ? 0 : text.search(/[{[]/);
      if (start === -1) return;
      begun = true;
      reader.push(text.slice(start));
    },
    get value() {
      return reader.value;
    },
  };
}
