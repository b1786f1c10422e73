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
import { type Call, callErrorOf } from "../base/call-error.js";
import { requestOptionsOf } from "../base/call-options.js";
import { NAME } from "../base/provider-options.js";
import { streamOf } from "../base/stream-of.js";
import { requestIdIn, type WatchedCall, watchCall } from "../base/watch-call.js";
import { type AnswerPart, partsOf } from "./parts.js";
import { requestOf } from "./request.js";
import { finishReasonOf, usageOf } from "./usage.js";

/** Path of chat requests (spec, Endpoints). */
const PATH = "/v1/chat/completions";

/** Creates the chat model with an id. */
export function chatModelFor(client: Client, modelId: string): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: `${NAME}.chat`,
    modelId,
    // the gateway fetches images itself; the SDK downloads all other files
    supportedUrls: { "image/*": [/^https?:/] },
    async doGenerate(options) {
      const { body, checks, warnings } = await requestOf(client, modelId, options);
      const call: Call = { client, path: PATH, body };
      const watched = watchCall(client);
      // not a stream: `gamma` and `delta` report the usage of a whole answer without being asked
      const given = { ...requestOptionsOf(options), checks };
      const turn = await completeChat(watched.client, body, given).catch((error) => {
        throw callErrorOf(call, error);
      });
      const { created } = turn.raw as { readonly created?: unknown };
      return {
        content: contentOf(turn),
        finishReason: finishReasonOf(turn),
        usage: usageOf(turn.usage),
        providerMetadata: metadataOf(turn, watched),
        request: { body },
        response: { ...responseOf({ ...turn, created }), headers: watched.headers, body: turn.raw },
        warnings: [...warnings, ...watched.warnings],
      };
    },
    async doStream(options) {
      const { body, checks, warnings } = await requestOf(client, modelId, options, true);
      const call: Call = { client, path: PATH, body };
      const watched = watchCall(client);
      const stream = streamChat(watched.client, body, { ...requestOptionsOf(options), checks });
      const parts = partsOf(stream);
      // a refusal has to reject this promise: the SDK counts all that comes later as an answer
      const first = await parts.next().catch((error) => {
        throw callErrorOf(call, error);
      });
      const opening: LanguageModelV4StreamPart[] = [
        { type: "stream-start", warnings: [...warnings, ...watched.warnings] },
        { type: "response-metadata", ...responseOf(stream.head) },
      ];
      return {
        stream: streamOf(answer({ opening, first, parts, stream, call, watched }), () => stream.abort()),
        request: { body },
        response: { headers: watched.headers },
      };
    },
  };
}

/** A stream of the gateway whose first part has come. */
interface Begun {
  /** Parts of the SDK before those of the response. */
  readonly opening: readonly LanguageModelV4StreamPart[];
  readonly first: IteratorResult<AnswerPart, void>;
  readonly parts: AsyncGenerator<AnswerPart, void>;
  readonly stream: ChatStream;
  readonly call: Call;
  readonly watched: WatchedCall;
}

async function* answer(begun: Begun): AsyncGenerator<LanguageModelV4StreamPart, void> {
  const { opening, first, parts, stream, call, watched } = begun;
  try {
    yield* opening;
    for (let step = first; !step.done; step = await parts.next()) yield step.value;
    const turn = await stream.result();
    yield {
      type: "finish",
      finishReason: finishReasonOf(turn),
      usage: usageOf(turn.usage),
      providerMetadata: metadataOf(turn, watched),
    };
  } catch (cause) {
    const error = callErrorOf(call, cause);
    // the part is for `onError`. With it alone, `text` would resolve to the half of an answer
    if (isGatewayError(cause)) yield { type: "error", error };
    throw error;
  } finally {
    await parts.return();
  }
}

function contentOf({ message, outcome, toolCalls }: ChatResult): LanguageModelV4Content[] {
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

/** Returns what the gateway says of a response. The SDK fills in what is missing. */
function responseOf({ id, model, created }: Head): LanguageModelV4ResponseMetadata {
  return {
    ...(id && { id }),
    ...(model && { modelId: model }),
    ...(typeof created === "number" && created > 0 && { timestamp: new Date(created * 1000) }),
  };
}

type Head = { readonly [Name in keyof ChatStream["head"]]: Name extends "created" ? unknown : string };

/** Speed of the answer, its ending in the client's words, and the id of its request. */
function metadataOf(
  { outcome, timing, refusal }: ChatResult,
  watched: WatchedCall,
): Record<string, JSONObject> {
  const facts = { ...requestIdIn(watched), ...(refusal !== undefined && { refusal }) };
  return { [NAME]: { outcome, timing: { ...timing }, ...facts } };
}
