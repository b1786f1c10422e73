import { Refusal } from "../refusals/refusal.js";
import { hasOwnFields } from "./field-table.js";

/** The spec's pattern of a `user_id`. */
const USER_ID = /^[\w-]{1,512}$/;

/**
 * Writes what OpenAI clients send in the gateway's own way: the newer names of `max_tokens` and of the role `system`, and a
 * list of one `stop` for a model that takes one text.
 *
 * @throws {Refusal} 400 for two limits of tokens, or for a `user_id` that the gateway would refuse
 */
export function adaptFields(body: Record<string, unknown>, model: string): void {
  const { stop, messages, user_id: userId } = body;
  for (const message of Array.isArray(messages) ? messages : [])
    if (message?.role === "developer") message.role = "system";
  if (/^gamma-chat-/.test(model) && Array.isArray(stop) && stop.length === 1) body["stop"] = stop[0];
  // it is replaced by the proxy's own: the caller would never learn of a mistake
  if (hasOwnFields(model) && userId !== undefined && !(typeof userId === "string" && USER_ID.test(userId)))
    throw new Refusal("bad_user_id", { param: "user_id" });
  const newer = body["max_completion_tokens"] ?? undefined;
  delete body["max_completion_tokens"];
  if (newer === undefined) return;
  if ((body["max_tokens"] ?? newer) !== newer)
    throw new Refusal("two_token_limits", { param: "max_completion_tokens" });
  body["max_tokens"] = newer;
}

/** @throws {Refusal} 400 for a limit of tokens with which a meter can't compute, also where no cap bounds it */
export function checkTokens({ max_tokens: tokens }: Readonly<Record<string, unknown>>): void {
  if (tokens === undefined || tokens === null) return;
  if (!Number.isSafeInteger(tokens) || (tokens as number) < 1)
    throw new Refusal("bad_token_limit", { param: "max_tokens" });
}
