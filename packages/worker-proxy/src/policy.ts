import type { Settings, Setup } from "./options.js";
import { Refusal } from "./refusal.js";
import { belongsTo, maxTokensOf, type Route } from "./routes.js";

/**
 * The body that may leave, with what the operator's limits set.
 *
 * @throws {Refusal} 403 for a model that may not be asked here, 400 for a parameter beyond its limit
 */
export function allowedBody(
  body: Record<string, unknown>,
  { name }: Route,
  { models }: Setup,
  { maxTokens }: Settings<unknown>["limits"],
): Record<string, unknown> & { readonly model: string } {
  const { model } = body;
  if (typeof model !== "string" || !models.includes(model) || !belongsTo(model, name))
    throw new Refusal(
      403,
      "model_not_allowed",
      "this model may not be asked here; the proxy's operator lists `models`",
      {
        param: "model",
      },
    );
  if (name !== "chat" || maxTokens === undefined) return { ...body, model };
  // not lowered in silence: an answer cut short would look like the model's doing
  const most = Math.min(maxTokens, maxTokensOf(model));
  const asked = body["max_tokens"] ?? most;
  if (
    typeof asked !== "number" ||
    !Number.isInteger(asked) ||
    asked < 1 ||
    asked > most ||
    "max_completion_tokens" in body
  )
    throw new Refusal(400, "max_tokens_exceeded", `max_tokens must be a whole number from 1 to ${most}`, {
      param: "max_tokens",
    });
  return { ...body, model, max_tokens: asked };
}
