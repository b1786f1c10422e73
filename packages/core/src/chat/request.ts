import { ValidationError } from "../errors.js";
import type { Client } from "../http.js";
import { assertNoIssues, isUnchecked } from "../validate.js";
import { checkChatRequest } from "./schema.js";

/** Where chat requests go (spec, Endpoints). */
export const CHAT_PATH = "/v1/chat/completions";

/**
 * The body to send for `request`: checked by the rules of its model, warnings reported, with `stream` as the
 * verb needs it. Nothing else is added, changed or left out.
 *
 * @throws {ValidationError}
 */
export function checkedChatRequest(client: Client, request: object, stream: boolean): object {
  if (!isUnchecked(request)) {
    const { issues, warnings } = checkChatRequest(request);
    assertNoIssues(issues);
    for (const issue of warnings) client.emit({ type: "warning", issue });
  }
  const given = (request as { stream?: unknown }).stream;
  if (given !== undefined && given !== stream) {
    const message = stream
      ? "streamChat() streams: leave `stream` out, or use completeChat()"
      : "completeChat() does not stream: leave `stream` out, or use streamChat()";
    throw new ValidationError([{ path: "stream", message, rule: "chat.stream" }]);
  }
  return stream ? { ...request, stream } : request;
}
