import { assertAccepted } from "../../base/validate.js";
import type { Client } from "../../client.js";
import type { RequestOptions } from "../../transport/send.js";
import { type ChatModel, chatModels } from "../../vocabulary/chat-models.js";
import { ValidationError } from "../../vocabulary/errors.js";
import { checkSentRequest } from "./schema.js";

/** Path of chat requests (spec, Endpoints). */
export const CHAT_PATH = "/v1/chat/completions";

/**
 * The body of a request for a whole answer: checked by the rules of its model, and unchanged. Reports warnings.
 *
 * @throws {ValidationError}
 */
export function createWholeRequest(client: Client, request: object, options: RequestOptions): object {
  const message = "completeChat() does not stream: leave `stream` out, or use streamChat()";
  assertSendable(client, request, options, { stream: false, message });
  return request;
}

/**
 * The body of a request for a stream: checked by the rules of its model. Reports warnings. Sets `stream`. Requests the
 * usage, where the spec has the field or the client's `includeUsage` says so, unless the request sets it. Everything else
 * stays unchanged.
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

/** @param only the value that `stream` may have, and the message for another one */
function assertSendable(
  client: Client,
  request: { readonly stream?: unknown },
  options: RequestOptions,
  only: { readonly stream: boolean; readonly message: string },
): void {
  assertAccepted(request, checkSentRequest, client.warn, options);
  if (request.stream !== undefined && request.stream !== only.stream)
    throw new ValidationError([{ path: "stream", message: only.message, rule: "chat.stream" }]);
}
