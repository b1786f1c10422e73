import type {
  JSONObject,
  LanguageModelV4,
  LanguageModelV4Content,
  LanguageModelV4ResponseMetadata,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import {
  type ChatResult,
  type ChatStream,
  type Client,
  completeChat,
  isGatewayError,
  streamChat,
} from "@sluice/core";
import { type Call, toCallError } from "../base/call-error.js";
import { toRequestOptions } from "../base/call-options.js";
import { NAME } from "../base/provider-options.js";
import { toStream } from "../base/to-stream.js";
import { readRequestId, type WatchedCall, watchCall } from "../base/watch-call.js";
import { type MessagePart, readParts } from "./parts.js";
import { toRequest } from "./request.js";
import { toFinishReason, toUsage } from "./usage.js";

/** Path of chat requests (spec, Endpoints). */
const PATH = "/v1/chat/completions";

/** Creates the chat model with this id. */
export function createChatModel(client: Client, modelId: string): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: `${NAME}.chat`,
    modelId,
    // the gateway fetches images; the SDK downloads all other files
    supportedUrls: { "image/*": [/^https?:/] },
    async doGenerate(options) {
      const { body, checks, warnings } = await toRequest(client, modelId, options);
      const call: Call = { client, path: PATH, body };
      const watched = watchCall(client);
      const requestOptions = { ...toRequestOptions(options), checks };
      // a stream of `gamma` or `delta` would report its usage only with `include_usage`
      const result = await completeChat(watched.client, body, requestOptions).catch((error) => {
        throw toCallError(call, error);
      });
      const { created } = result.raw as { readonly created?: unknown };
      return {
        content: toContent(result),
        finishReason: toFinishReason(result),
        usage: toUsage(result.usage),
        providerMetadata: toMetadata(result, watched),
        request: { body },
        response: {
          ...toResponseMetadata({ ...result, created }),
          headers: watched.headers,
          body: result.raw,
        },
        warnings: [...warnings, ...watched.warnings],
      };
    },
    async doStream(options) {
      const { body, checks, warnings } = await toRequest(client, modelId, options, true);
      const call: Call = { client, path: PATH, body };
      const watched = watchCall(client);
      const stream = streamChat(watched.client, body, { ...toRequestOptions(options), checks });
      const parts = readParts(stream);
      // a refusal must reject this promise: the SDK treats every later error as part of a message
      const first = await parts.next().catch((error) => {
        throw toCallError(call, error);
      });
      const opening: LanguageModelV4StreamPart[] = [
        { type: "stream-start", warnings: [...warnings, ...watched.warnings] },
        { type: "response-metadata", ...toResponseMetadata(stream.head) },
      ];
      return {
        stream: toStream(writeParts({ opening, first, parts, stream, call, watched }), () => stream.abort()),
        request: { body },
        response: { headers: watched.headers },
      };
    },
  };
}

/** A stream of the gateway with its first part. */
interface OpenStream {
  /** Parts of the SDK before the parts of the response. */
  readonly opening: readonly LanguageModelV4StreamPart[];
  readonly first: IteratorResult<MessagePart, void>;
  readonly parts: AsyncGenerator<MessagePart, void>;
  readonly stream: ChatStream;
  readonly call: Call;
  readonly watched: WatchedCall;
}

/** Writes the parts of a stream, from its start to its finish or its error. */
async function* writeParts(open: OpenStream): AsyncGenerator<LanguageModelV4StreamPart, void> {
  const { opening, first, parts, stream, call, watched } = open;
  try {
    yield* opening;
    for (let next = first; !next.done; next = await parts.next()) yield next.value;
    const result = await stream.result();
    yield {
      type: "finish",
      finishReason: toFinishReason(result),
      usage: toUsage(result.usage),
      providerMetadata: toMetadata(result, watched),
    };
  } catch (cause) {
    const error = toCallError(call, cause);
    // the SDK calls `onError` for the part, and rejects `text` for the throw
    if (isGatewayError(cause)) yield { type: "error", error };
    throw error;
  } finally {
    await parts.return();
  }
}

function toContent({ message, outcome, toolCalls }: ChatResult): LanguageModelV4Content[] {
  const { reasoning_content: reasoning, content } = message;
  const calls = outcome === "tool-calls" ? toolCalls : [];
  return [
    ...(reasoning ? [{ type: "reasoning" as const, text: reasoning }] : []),
    ...(content ? [{ type: "text" as const, text: content }] : []),
    ...calls.map(({ id, name, arguments: input }) => ({
      type: "tool-call" as const,
      toolCallId: id,
      toolName: name,
      input: input.trim() || "{}",
    })),
  ];
}

/** Returns the metadata of a response. The SDK fills in missing fields. */
function toResponseMetadata({ id, model, created }: Head): LanguageModelV4ResponseMetadata {
  return {
    ...(id && { id }),
    ...(model && { modelId: model }),
    ...(typeof created === "number" && created > 0 && { timestamp: new Date(created * 1000) }),
  };
}

/** Fields of the response that the SDK shows. */
type Head = { readonly [Name in keyof ChatStream["head"]]: Name extends "created" ? unknown : string };

/** Returns the speed of the message, its outcome, and the id of its request. */
function toMetadata(
  { outcome, timing, refusal }: ChatResult,
  watched: WatchedCall,
): Record<string, JSONObject> {
  const metadata = { ...readRequestId(watched), ...(refusal !== undefined && { refusal }) };
  return { [NAME]: { outcome, timing: { ...timing }, ...metadata } };
}
