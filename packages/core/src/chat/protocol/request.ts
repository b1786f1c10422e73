import { assertAccepted } from "../../base/validate.js";
import type { Client } from "../../client.js";
import type { RequestOptions } from "../../transport/send.js";
import { type ChatModel, chatModels } from "../../vocabulary/chat-models.js";
import { ValidationError } from "../../vocabulary/errors.js";
import { checkSentRequest } from "./schema.js";

/** Path of chat requests (spec, Endpoints). */
export const CHAT_PATH = "/v1/chat/completions";

/** Makes the path of an answer that a proxy keeps; undefined for an id that could lead to another path. */
export function streamPath(id: unknown): string | undefined {
  return typeof id === "string" && /^[\w-]{1,128}$/.test(id) ? `/v1/chat/streams/${id}` : undefined;
}

/**
 * The body to send for `request`: Checks it by the rules of its model and reports warnings. Sets `stream`. Requests the
 * usage of a stream, where the spec has the field or the client's `includeUsage` says so, unless the request sets it.
 * Everything else stays unchanged.
 *
 * @throws {ValidationError}
 */
export function checkedChatRequest(
  client: Client,
  request: object,
  stream: boolean,
  options: RequestOptions,
): object {
  assertAccepted(request, checkSentRequest, client.warn, options);
  const given = (request as { stream?: unknown }).stream;
  if (given !== undefined && given !== stream) {
    const message = stream
      ? "streamChat() streams: leave `stream` out, or use completeChat()"
      : "completeChat() does not stream: leave `stream` out, or use streamChat()";
    throw new ValidationError([{ path: "stream", message, rule: "chat.stream" }]);
  }
  if (!stream) return request;
  const { model, stream_options } = request as { model: ChatModel; stream_options?: object };
  const isAsked =
    options.checks !== false && (client.gateway.includeUsage ?? "usageOnRequest" in chatModels[model]);
  return {
    ...request,
    stream,
    ...(isAsked && { stream_options: { include_usage: true, ...stream_options } }),
  };
}
