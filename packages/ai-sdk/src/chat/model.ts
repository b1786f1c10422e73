import type {
  JSONObject,
  LanguageModelV4,
  LanguageModelV4Content,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import {
  type ChatStream,
  type ChatTurn,
  type Client,
  completeChat,
  isGatewayError,
  streamChat,
} from "@sluice/core";
import { type Call, callErrorOf } from "../call-error.js";
import { requestOptionsOf } from "../call-options.js";
import { NAME } from "../provider-options.js";
import { streamOf } from "../stream-of.js";
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
      const { request, body, warnings } = await requestOf(client, modelId, options);
      const call: Call = { client, path: PATH, body, isSentOnce: true };
      // not a stream: `gamma` and `delta` report the usage of a whole answer without being asked. Sent once: any failure
      // but a refusal may hide an answer that was made, and paid, to its end
      const sendOptions = { ...requestOptionsOf(options), retry: { limit: 0 } };
      const turn = await completeChat(client, request, sendOptions).catch((error) => {
        throw callErrorOf(call, error);
      });
      return {
        content: contentOf(turn),
        finishReason: finishReasonOf(turn),
        usage: usageOf(turn.usage),
        providerMetadata: metadataOf(turn),
        request: { body },
        response: { id: turn.id, modelId: turn.model, body: turn.raw },
        warnings,
      };
    },
    async doStream(options) {
      const { request, body, warnings } = await requestOf(client, modelId, options, true);
      const call: Call = { client, path: PATH, body };
      const stream = streamChat(client, request, requestOptionsOf(options));
      const parts = partsOf(stream);
      // a refusal has to reject this promise: the SDK counts all that comes later as an answer
      const first = await parts.next().catch((error) => {
        throw callErrorOf(call, error);
      });
      const start: LanguageModelV4StreamPart = { type: "stream-start", warnings };
      return {
        stream: streamOf(answer(start, first, parts, stream, call), () => stream.abort()),
        request: { body },
      };
    },
  };
}

async function* answer(
  start: LanguageModelV4StreamPart,
  first: IteratorResult<AnswerPart, void>,
  parts: AsyncGenerator<AnswerPart, void>,
  stream: ChatStream,
  call: Call,
): AsyncGenerator<LanguageModelV4StreamPart, void> {
  try {
    yield start;
    for (let step = first; !step.done; step = await parts.next()) yield step.value;
    const turn = await stream.result();
    yield { type: "response-metadata", id: turn.id, modelId: turn.model };
    yield {
      type: "finish",
      finishReason: finishReasonOf(turn),
      usage: usageOf(turn.usage),
      providerMetadata: metadataOf(turn),
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

function contentOf({ message, outcome, toolCalls }: ChatTurn): LanguageModelV4Content[] {
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

/** Speed of the answer, and its ending in the client's words. */
function metadataOf({ outcome, timing, refusal }: ChatTurn): Record<string, JSONObject> {
  return { [NAME]: { outcome, timing: { ...timing }, ...(refusal !== undefined && { refusal }) } };
}
