import type { Client } from "../../client.js";
import type { RequestOptions } from "../../transport/send.js";
import { type ChatModel, chatModels } from "../../types/chat-models.js";
import { ValidationError } from "../../types/errors.js";
import { assertChatRequest } from "./schema.js";

/** Path of chat requests (spec, Endpoints). */
export const CHAT_PATH = "/v1/chat/completions";

declare const process: { readonly env: { readonly NODE_ENV?: string } };

/**
 * Checks a request for a whole response by the rules of its model, and returns it unchanged. Emits warnings.
 *
 * @throws {ValidationError}
 */
export function createWholeRequest(client: Client, request: object, options: RequestOptions): object {
  assertChatRequest(client, request, options);
  assertStream(request, false);
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
  assertChatRequest(client, request, options);
  assertStream(request, true);
  const { model, stream_options } = request as { model: ChatModel; stream_options?: object };
  const needsUsage =
    options.checks !== false && (client.gateway.includeUsage ?? "usageOnRequest" in chatModels[model]);
  return {
    ...request,
    stream: true,
    ...(needsUsage && { stream_options: { include_usage: true, ...stream_options } }),
  };
}

/** Rejects in development a `stream` that does not fit the function. Both functions can read both responses. */
function assertStream({ stream }: { readonly stream?: unknown }, streams: boolean): void {
  let message: string | undefined;
  try {
    if (process.env.NODE_ENV !== "production" && stream !== undefined && stream !== streams)
      message = streams
        ? "streamChat() streams: leave `stream` out, or use completeChat()"
        : "completeChat() does not stream: leave `stream` out, or use streamChat()";
  } catch {}
  if (message) throw new ValidationError([{ path: "stream", message, rule: "chat.stream" }]);
}
