import type { Client } from "../../client.js";
import type { RequestOptions } from "../../transport/send.js";
import { type ChatModel, chatModels } from "../../vocabulary/chat-models.js";
import { ValidationError } from "../../vocabulary/errors.js";
import { assertChatRequest } from "./schema.js";

/** Path of chat requests (spec, Endpoints). */
export const CHAT_PATH = "/v1/chat/completions";

/**
 * Checks a request for a whole response by the rules of its model, and returns it unchanged. Emits warnings.
 *
 * @throws {ValidationError}
 */
export function createWholeRequest(client: Client, request: object, options: RequestOptions): object {
  const message = "completeChat() does not stream: leave `stream` out, or use streamChat()";
  assertSendable(client, request, options, { stream: false, message });
  return request;
}

/**
 * Checks a request for a stream by the rules of its model, and returns its body with `stream: true`. Emits warnings.
 * Requests the usage if the spec lists the field or the client sets `includeUsage`, unless the request decides.
 * Everything else stays unchanged.
 *
 * @throws {ValidationError}
 */
export function createStreamedRequest(client: Client, request: object, options: RequestOptions): object {
  const message = "streamChat() streams: leave `stream` out, or use completeChat()";
  assertSendable(client, request, options, { stream: true, message });
  const { model, stream_options } = request as { model: ChatModel; stream_options?: object };
  const isAsked =
    options.checks !== false && (client.gateway.includeUsage ?? "usageOnRequest" in chatModels[model]);
  return {
    ...request,
    stream: true,
    ...(isAsked && { stream_options: { include_usage: true, ...stream_options } }),
  };
}

/** @param only the allowed value of `stream`, and the message for other values */
function assertSendable(
  client: Client,
  request: { readonly stream?: unknown },
  options: RequestOptions,
  only: { readonly stream: boolean; readonly message: string },
): void {
  assertChatRequest(client, request, options);
  if (request.stream !== undefined && request.stream !== only.stream)
    throw new ValidationError([{ path: "stream", message: only.message, rule: "chat.stream" }]);
}
