import {
  type AssistantMessage,
  type ChatRequest,
  type ChatUsage,
  type Client,
  isGatewayError,
  type RequestOptions,
  type StandardSchema,
  StreamError,
  streamChat,
} from "@sluice/core";
import { canReuseKey, readStoredChat, toError } from "@sluice/core/extend";
import { yieldToHost } from "../base/yield-to-host.js";
import { optionalParts } from "./load-optional-parts.js";
import {
  type ChatMessage,
  type ChatTiming,
  type ChatToolCall,
  closeToolCalls,
  createInterruptedEnd,
  type ToolCall,
} from "./message.js";
import type { createJSONReader } from "./structured-output.js";

/** Maximum time of reading deltas before the host may render, in milliseconds: half a frame. */
const SLICE_MS = 8;

/** A streaming response as a message. */
export type Response = ReturnType<typeof createResponse>;

/**
 * Sends a request and builds the message of its response. With a schema, the text is parsed as JSON. Without a request,
 * the draft is a response that the proxy stores; it is read again from its start.
 */
export function createResponse(
  client: Client,
  { streamId, ...draft }: ChatMessage,
  request: ChatRequest | undefined,
  { schema, ...options }: RequestOptions & { schema?: StandardSchema | undefined },
) {
  const { clock } = client;
  const { idempotencyKey } = draft;
  const sendOptions = { ...options, idempotencyKey };
  const stream = request
    ? streamChat(client, request, sendOptions)
    : readStoredChat(client, streamId as string, sendOptions);
  const initialSnapshot = stream.snapshot;
  const shownCalls = new WeakMap<ToolCall, ChatToolCall>();
  let jsonReader: ReturnType<typeof createJSONReader> | undefined;
  let isComplete = false;
  let usage: ChatUsage | undefined;
  let lastShown: { snapshot: unknown; streamId: string | undefined; message: ChatMessage } | undefined;

  return {
    /** The message so far; the same object until it grows. */
    get message(): ChatMessage {
      const { snapshot, streamId } = stream;
      if (lastShown?.snapshot !== snapshot || lastShown.streamId !== streamId)
        lastShown = { snapshot, streamId, message: { ...readMessage(), ...(streamId && { streamId }) } };
      return lastShown.message;
    },
    /** True until the first text, reasoning or tool call. */
    get isWaiting(): boolean {
      return stream.snapshot === initialSnapshot;
    },
    read,
    /** Aborts the request; returns the message so far. */
    stop(): ChatMessage {
      stream.abort();
      return endWith({ outcome: "stopped" }, stream.timing);
    },
  };

  /** Reads the response to its end, and calls `onDelta` after each delta. */
  async function read(onDelta: () => void): Promise<ChatMessage> {
    let sliceEnd = clock.now() + SLICE_MS;
    if (schema) void loadJSONReader();
    try {
      for await (const delta of stream) {
        if (delta.type === "usage") usage = delta.usage;
        else if (delta.type === "tool-call-start") void loadJSONReader();
        onDelta();
        if (clock.now() < sliceEnd) continue;
        await yieldToHost();
        sliceEnd = clock.now() + SLICE_MS;
      }
      const { outcome, timing, finishReason } = await stream.result();
      // if the code fails to load, the response counts as stored: `retry` reads it again, free of charge
      const parser = schema && outcome === "complete" && (await optionalParts.load());
      isComplete = true;
      if (outcome === "error") throw createFailedError(finishReason, stream.snapshot);
      if (schema) await loadJSONReader();
      const message = endWith({ outcome }, timing);
      return parser ? await parser.parseOutput(message, schema) : message;
    } catch (cause) {
      return endWith(
        request || stream.streamId || hasServerReason(cause)
          ? findEnd(cause)
          : createInterruptedEnd(stream.snapshot.content),
        stream.timing,
        cause,
      );
    }
  }

  /** @param cause error of the stream. It decides whether `retry` reuses the idempotency key */
  function endWith(
    end: Pick<ChatMessage, "outcome" | "error">,
    timing: ChatTiming,
    cause?: unknown,
  ): ChatMessage {
    const { idempotencyKey, ...known } = readMessage();
    const key = idempotencyKey && canReuseKey(cause) ? { idempotencyKey } : {};
    // the proxy may store the rest: `retry` reads it before it requests another response
    const resumption = !isComplete && stream.streamId ? { streamId: stream.streamId } : {};
    const message = { ...known, ...key, ...resumption, ...end, ...(usage && { usage }), timing };
    return end.outcome === "tool-calls"
      ? message
      : closeToolCalls(message, "the response ended before the call was complete");
  }

  function readMessage(): ChatMessage {
    const { content, reasoning_content: reasoning, tool_calls: calls } = stream.snapshot;
    // a response that is read again from its start is shown once it is longer than the text before
    if (content.length + (reasoning?.length ?? 0) < draft.content.length + (draft.reasoning?.length ?? 0))
      return draft;
    const output = schema && jsonReader?.readOutput(content);
    return {
      ...draft,
      role: "assistant",
      content,
      ...(reasoning !== undefined && { reasoning }),
      ...(calls && { toolCalls: calls.map(showCall) }),
      ...(output !== undefined && { output }),
    };
  }

  /** Loads the code for growing JSON. If that fails, JSON is parsed once it is complete. */
  async function loadJSONReader(): Promise<void> {
    const code = optionalParts.loaded ?? (await optionalParts.load().catch(() => undefined));
    jsonReader ??= code?.createJSONReader();
  }

  function showCall(call: ToolCall, index: number): ChatToolCall {
    const known = shownCalls.get(call);
    if (known) return known;
    const { name, arguments: text } = call.function;
    const input = jsonReader?.readInput(index, text);
    const created: ChatToolCall = { id: call.id, name, arguments: text, input, state: "streaming" };
    if (input !== undefined) shownCalls.set(call, created);
    return created;
  }
}

/** Returns true if the server gave a reason for the end of a stored response. Without one, the response is interrupted. */
function hasServerReason(cause: unknown): boolean {
  return (
    isGatewayError(cause) &&
    cause.name === "StreamError" &&
    cause.code !== undefined &&
    cause.code !== "stream_interrupted"
  );
}

/** Creates the error of a response that failed by its `finish_reason`, or announced tool calls and contains none. */
function createFailedError(
  finishReason: string | null,
  partial: AssistantMessage,
): StreamError<AssistantMessage> {
  const text = `the response failed (finish_reason ${finishReason}); send the request again`;
  return new StreamError(text, { reason: "server-error", partial, code: finishReason ?? undefined });
}

function findEnd(cause: unknown): Pick<ChatMessage, "outcome" | "error"> {
  const error = toError(cause);
  if (!isGatewayError(error))
    return error.name === "AbortError" ? { outcome: "stopped" } : { outcome: "error", error };
  const isCut = error.name === "StreamError" && error.reason === "truncated";
  return { outcome: isCut ? "truncated" : "error", error };
}
