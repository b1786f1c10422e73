import type { Admitted } from "../admitted.js";
import { Refusal } from "../refusal.js";
import type { Settings, Setup } from "../settings.js";
import { readBody } from "./body.js";
import { type Address, holdCaps, siftBody } from "./fields.js";
import { belongsTo, hasOwnFields, tableOf } from "./models.js";
import type { Match, Route } from "./path.js";
import type { Tenancy } from "./tenancy.js";
import { ownId } from "./user.js";

type Body = Record<string, unknown>;

/**
 * Reads what is asked, and checks it against what the operator allows. A body becomes the one that leaves.
 *
 * @throws {Refusal} 403 for a model that may not be asked here, 400 for a field that is not listed or is beyond a
 *   limit, 404 for a task or an asset that is not this user's, and those of `readBody`
 */
export async function admit<Env>(
  settings: Settings<Env>,
  { models }: Setup,
  tenancy: Tenancy | undefined,
  { route, sentId: idInPath }: Match,
  asked: Omit<Admitted<Env>, "id" | "sentId" | "model" | "body">,
): Promise<Admitted<Env>> {
  const { limits, meter, fieldsOf } = settings;
  const body = await readBody(asked.request, limits);
  const sentId = body && route.isLookup ? lookedUp(body) : idInPath;
  if (sentId !== undefined) {
    const id = route.ids ? await ownId(tenancy, route.ids, sentId) : sentId;
    return { ...asked, id, sentId, ...(body && { body: { Id: id } }) };
  }
  if (!body) return asked;

  const names = namesIn(body, route);
  const [model] = names;
  if (!names.every((name) => models.has(name) && belongsTo(name, route.name))) {
    // a body without a model may have another spelling of the field: that is named then
    if (body["model"] === undefined) siftBody(body, fieldsOf(route.name, ""));
    throw new Refusal("model_not_allowed", { param: "model" });
  }
  if (route.name === "chat") renameTokens(body);
  const table = fieldsOf(route.name, model);
  const { dropped, addresses } = siftBody(body, table);
  if (route.name === "assets") checkGroups(model, models);
  const forAll = route.name === "chat" && limits.maxTokens ? { max_tokens: limits.maxTokens } : {};
  for (const name of names) holdCaps(body, table, { ...forAll, ...models.get(name) }, name);
  for (const address of addresses) await checkAddress(address, settings, tenancy);
  if (tenancy && hasOwnFields(model)) body["user_id"] = await tenancy.pseudonym();
  // without it the gateway tells nothing that could be settled
  const isCounted = meter && body["stream"] === true && hasOwnFields(model);
  if (isCounted) body["stream_options"] = { include_usage: true };
  return { ...asked, model, body, dropped };
}

const lookupTable = tableOf("Id*");

/** The asset that a lookup asks for; empty where it is no text, which no id is. */
function lookedUp(body: Body): string {
  siftBody(body, lookupTable);
  return typeof body["Id"] === "string" ? body["Id"] : "";
}

/** The models that a body names; what is no text is not listed anywhere. */
function namesIn(body: Readonly<Body>, { name }: Route): readonly [string, ...string[]] {
  if (name !== "epsilon") return [body["model"] as string];
  // no table refuses another spelling of these
  const other = Object.keys(body).find(
    (key) => /^model[_-]?(?:name|id)?$/i.test(key) && !/^model(?:_name)?$/.test(key),
  );
  if (other !== undefined) throw new Refusal("model_misnamed", { param: other });
  const given = [body["model"], body["model_name"]].filter((named) => (named ?? undefined) !== undefined);
  const [first = "epsilon", ...others] = given as string[];
  return [first, ...others];
}

/** @throws {Refusal} 403 unless the operator has listed groups of assets: a cap alone says who may use which */
function checkGroups(model: string, models: Setup["models"]): void {
  if (Object.hasOwn(models.get(model) ?? {}, "GroupId")) return;
  throw new Refusal("no_groups", { what: model, param: "GroupId", advice: model });
}

/** Writes the newer name of a field as the one that the gateway has. */
function renameTokens(body: Record<string, unknown>): void {
  const newer = body["max_completion_tokens"] ?? undefined;
  delete body["max_completion_tokens"];
  if (newer === undefined) return;
  if ((body["max_tokens"] ?? newer) !== newer)
    throw new Refusal("two_token_limits", { param: "max_completion_tokens" });
  body["max_tokens"] = newer;
}

const SCHEME = "asset://";
/** A text that could be read as an asset's address, with what some readers of addresses leave out. */
const LIKE_ASSET = /^[\s\p{Cc}]*a\p{Cc}*s\p{Cc}*s\p{Cc}*e\p{Cc}*t\p{Cc}*:/iu;

/** Checks one address. That of an asset becomes the one that the gateway knows. */
async function checkAddress<Env>(
  { owner, name, path }: Address,
  { media, limits }: Settings<Env>,
  tenancy: Tenancy | undefined,
): Promise<void> {
  const text = owner[name] as string;
  if (tenancy && LIKE_ASSET.test(text)) {
    const sent = text.startsWith(SCHEME) ? text.slice(SCHEME.length) : "";
    owner[name] = SCHEME + (await ownId(tenancy, "asset", sent));
  } else {
    // few requests have addresses
    const { checkMedia } = await import("./media.js");
    await checkMedia(text, path, media, limits.dataURIBytes);
  }
}
