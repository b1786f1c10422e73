import { ValidationError } from "../errors.js";
import type { Client } from "../http.js";
import { assertAccepted } from "../validate.js";
import { checkChatRequest } from "./schema.js";

/** Where chat requests go (spec, Endpoints). */
export const CHAT_PATH = "/v1/chat/completions";

/**
 * The body to send for `request`: checked by the rules of its model, warnings reported, with `stream` as the
 * verb needs it. Nothing else is added, changed or left out. `newer` is as in `assertAccepted`.
 *
 * @throws {ValidationError}
 */
export function checkedChatRequest(client: Client, request: object, stream: boolean, newer: string): object {
  assertAccepted(request, checkChatRequest, client.warn, newer);
  const given = (request as { stream?: unknown }).stream;
  if (given !== undefined && given !== stream) {
    const message = stream
      ? "streamChat() streams: leave `stream` out, or use completeChat()"
      : "completeChat() does not stream: leave `stream` out, or use streamChat()";
    throw new ValidationError([{ path: "stream", message, rule: "chat.stream" }]);
  }
  return stream ? { ...request, stream } : request;
}
