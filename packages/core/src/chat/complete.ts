import type { RequestFor } from "../base/validate.js";
import type { Client } from "../client.js";
import { isRecord } from "../transport/error-response.js";
import { requestRecord, type WholeResponse } from "../transport/json-response.js";
import type { RequestOptions } from "../transport/send.js";
import { createFold, emptyMessage } from "./protocol/accumulate.js";
import { createCallReader } from "./protocol/call-reader.js";
import type { ChatResult } from "./protocol/delta.js";
import { findReportedError } from "./protocol/reported-error.js";
import { CHAT_PATH, createWholeRequest } from "./protocol/request.js";
import { createResponseReader, tokenCounts, type WireObject } from "./protocol/response-reader.js";
import type { ChatRequests } from "./protocol/schema.js";
import { createStreamParser } from "./protocol/stream-parser.js";

/** Ten minutes: the headers arrive with the whole response, and a thinking model takes minutes. */
const FIRST_CHUNK_MS = 600_000;

/**
 * Sends a chat request and returns the whole response (spec, POST /v1/chat/completions).
 *
 * @throws {ValidationError} when a rule of the model is broken; nothing was sent
 * @throws {APIError} when the gateway refuses, or reports an error beside the response
 * @throws {ConnectionError} when no response came
 * @throws {TimeoutError} phase `first-chunk`, `chunk` or `total`
 * @throws {ResponseError} when the response does not fit the spec; `path` names the field
 * @throws {StreamError} when the gateway streamed the response, and the stream broke or carried an error
 * @example
 * ```ts
 * const { message, usage } = await completeChat(client, {
 *   model: "gamma-chat-1-6-251015",
 *   messages: [{ role: "user", content: "Say hello in Hindi" }],
 * });
 * ```
 */
export async function completeChat<const Model extends string, Checks extends boolean = true>(
  client: Client,
  request: RequestFor<Model, ChatRequests, Checks>,
  options: RequestOptions<Checks> = {},
): Promise<ChatResult> {
  return requestRecord(
    client,
    {
      method: "post",
      kind: "chat",
      path: CHAT_PATH,
      subject: request,
      body: () => createWholeRequest(client, request, options),
      firstChunkMs: FIRST_CHUNK_MS,
      read({ json, mismatch, reported, totalMs }) {
        const error = findReportedError(json);
        if (error) throw reported(error);
        const path = findMismatch(json);
        if (path !== undefined) throw mismatch(path);
        return parseResult(json, totalMs, client.warn, mismatch);
      },
      readText: (response) => parseStreamedResult(client, request, response),
      summary: (turn: ChatResult) => turn,
    },
    options,
    "choices",
  );
}

/** Parses the response of a gateway that streams without a request to stream. */
function parseStreamedResult(
  client: Client,
  request: object,
  { text, totalMs, requestId, reported }: WholeResponse<undefined>,
): ChatResult {
  const fold = createFold();
  const reader = createResponseReader(fold.add, createCallReader, client.warn, request);
  const parser = createStreamParser(reader, client.scrub);
  parser.push(new TextEncoder().encode(text));
  parser.push(undefined);
  const { end, isWhole } = parser;
  const partial = fold.message;
  if (isWhole) return reader.toResult(partial, { totalMs });
  // the body contained no part of a response
  const isEmpty = end?.type === "cut" && partial === emptyMessage;
  throw (!isEmpty && end?.toError?.({ partial, requestId })) || reported();
}

function parseResult(
  completion: WireObject,
  totalMs: number,
  warn: Client["warn"],
  mismatch: WholeResponse["mismatch"],
): ChatResult {
  const fold = createFold();
  const reader = createResponseReader(fold.add, createCallReader, warn);
  reader.read(completion);
  if (reader.problem) throw mismatch("choices.message.tool_calls");
  reader.finish();
  return reader.toResult(fold.message, { totalMs });
}

/** Finds the path of the first documented field with a wrong type. */
function findMismatch({ id, model, choices, usage }: Record<string, unknown>): string | undefined {
  if (!isTextOrNone(id)) return "id";
  if (!isTextOrNone(model)) return "model";
  if (!Array.isArray(choices) || choices.length === 0) return "choices";
  for (const [index, choice] of choices.entries()) {
    const at = `choices.${index}`;
    if (!isRecord(choice)) return at;
    if (!isTextOrNone(choice.finish_reason)) return `${at}.finish_reason`;
    if (!isRecord(choice.message)) return `${at}.message`;
    const { content, reasoning_content, tool_calls } = choice.message;
    if (!isTextOrNone(content) && !Array.isArray(content)) return `${at}.message.content`;
    if (!isTextOrNone(reasoning_content)) return `${at}.message.reasoning_content`;
    if (tool_calls != null && !(Array.isArray(tool_calls) && tool_calls.every(isRecord)))
      return `${at}.message.tool_calls`;
  }
  if (usage == null) return undefined;
  if (!isRecord(usage)) return "usage";
  const odd = tokenCounts.find((name) => typeof usage[name] !== "number");
  return odd && `usage.${odd}`;
}

function isTextOrNone(value: unknown): boolean {
  return value == null || typeof value === "string";
}
