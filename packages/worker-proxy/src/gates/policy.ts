import type { Admitted } from "../admitted.js";
import { Refusal } from "../refusal.js";
import type { Settings, Setup } from "../settings.js";
import { readBody } from "./body.js";
import { holdCaps, siftBody } from "./fields.js";
import { belongsTo, hasOwnFields, tableOf } from "./models.js";
import type { Match } from "./path.js";

/**
 * Reads a request, and checks it against what the operator allows. The body becomes the one that is sent.
 *
 * @throws {Refusal} 403 for a model that is not listed, 400 for a field that is not listed or is beyond a
 *   limit, 404 for a task or an asset that is not this user's, and those of `readBody`
 */
export async function admit<Env>(
  settings: Settings<Env>,
  { models, tenancy }: Setup,
  { route, sentId: idInPath }: Match,
  asked: Omit<Admitted<Env>, "id" | "sentId" | "model" | "body">,
): Promise<Admitted<Env>> {
  const { limits, meter, fieldsOf } = settings;
  const body = await readBody(asked.request, limits);
  if (idInPath !== undefined || route.isLookup) {
    if (body) siftBody(body, lookupTable);
    const { admitId } = await import("./references.js");
    return await admitId(route, idInPath, body, tenancy, asked);
  }
  if (!body || route.extension) return { ...asked, ...(body && { body }) };

  // the models that a body names; what is no text is not listed anywhere
  const names =
    route.name === "epsilon"
      ? (await import("./references.js")).namesIn(body)
      : ([body["model"]] as [string]);
  const [model] = names;
  if (!names.every((name) => models.has(name) && belongsTo(name, route.name))) {
    // a body without a model may have another spelling of the field: that is named then
    if (body["model"] === undefined) siftBody(body, fieldsOf(route.name, ""));
    throw new Refusal("model_not_allowed", { param: "model" });
  }
  if (route.name === "chat") adaptFields(body, model);
  const table = fieldsOf(route.name, model);
  const { dropped, addresses } = siftBody(body, table);
  if (route.name === "assets") (await import("./references.js")).checkGroups(model, models);
  const forAll = route.name === "chat" && limits.maxTokens ? { max_tokens: limits.maxTokens } : {};
  // also where nothing bounds it: a meter computes with it
  const tokens = (body["max_tokens"] ?? 1) as number;
  if (!Number.isSafeInteger(tokens) || tokens < 1)
    throw new Refusal("bad_token_limit", { param: "max_tokens" });
  for (const name of names) holdCaps(body, table, { ...forAll, ...models.get(name) }, name);
  // few requests have addresses
  if (addresses.length > 0) {
    const { checkAddress } = await import("./references.js");
    for (const address of addresses) await checkAddress(address, settings, tenancy);
  }
  if (tenancy && hasOwnFields(model)) body["user_id"] = await tenancy.pseudonym();
  // without it the answer has no usage to settle by
  const isCounted = meter && body["stream"] === true && (settings.includeUsage ?? hasOwnFields(model));
  if (isCounted) body["stream_options"] = { include_usage: true };
  const texts = addresses.map(({ owner, name }) => owner[name] as string);
  return { ...asked, model, body, dropped, addresses: texts };
}

/** The spec's pattern of a `user_id`. */
const USER_ID = /^[\w-]{1,512}$/;

const lookupTable = tableOf("Id*");

/**
 * Writes what OpenAI clients send in the gateway's own way: the newer name of `max_tokens`, and a list of one `stop` for a
 * model that takes one text.
 *
 * @throws {Refusal} 400 for two limits of tokens, or for a `user_id` that the gateway would refuse
 */
function adaptFields(body: Record<string, unknown>, model: string): void {
  const { stop, user_id: userId } = body;
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
