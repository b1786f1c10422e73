import { invalid, Refusal } from "../refusal.js";
import type { Settings, Setup } from "../settings.js";
import { holdCaps } from "./caps.js";
import { siftBody } from "./fields.js";
import { ownId, type Tenancy } from "./ids.js";
import { checkMedia } from "./media.js";
import { belongsTo, hasOwnFields } from "./models.js";
import type { Route } from "./path.js";

/** A body that may leave for the gateway. */
export interface Allowed {
  readonly body: Readonly<Record<string, unknown>>;
  readonly model?: string;
  /** The fields that were left out. */
  readonly dropped: readonly string[];
}

/**
 * Checks a body against what the operator allows, and changes it in place to the body that leaves.
 *
 * @throws {Refusal} 403 for a model that may not be asked here, 400 for a field that is not listed or is beyond a
 *   limit, 404 for an asset that is not this user's
 */
export async function allowedBody<Env>(
  body: Record<string, unknown>,
  route: Route,
  { models }: Setup,
  settings: Settings<Env>,
  tenancy: Tenancy | undefined,
): Promise<Allowed> {
  const names = namesIn(body, route);
  const isAllowed = (name: unknown): name is string =>
    typeof name === "string" && belongsTo(name, route.name) && models.has(name);
  if (!names.every(isAllowed)) throw modelNotAllowed();
  const [model = ""] = names;
  if (route.name === "chat") renameTokens(body);
  const table = settings.fieldsOf(route, model);
  const { dropped, addresses } = siftBody(body, table);
  if (route.isLookup) return { body: { Id: await ownAsset(body["Id"], tenancy) }, dropped: [...dropped] };
  if (model === "") throw modelNotAllowed();
  if (route.name === "assets" && !Object.hasOwn(models.get(model) ?? {}, "GroupId"))
    throw new Refusal(
      403,
      "limit_exceeded",
      `no group of assets may be used; the proxy's operator lists them, models: { "${model}": { GroupId: ["…"] } }`,
      { param: "GroupId", advice: model },
    );
  const maxTokens = route.name === "chat" ? settings.limits.maxTokens : undefined;
  for (const name of names) holdCaps(body, table, name, models.get(name) ?? {}, maxTokens);
  const own = new Map<string, string>();
  for (const { owner, name, path } of addresses) {
    const text = owner[name] as string;
    if (tenancy && LIKE_ASSET.test(text)) {
      const id = own.get(text) ?? (await assetIn(text, tenancy));
      own.set(text, id);
      owner[name] = SCHEME + id;
    } else checkMedia(text, path, settings.media, settings.limits.dataURIBytes);
  }
  if (tenancy && hasOwnFields(model)) body["user_id"] = await tenancy.pseudonym();
  return { body, model, dropped: [...dropped] };
}

/** The models that a body names; each has to be listed. */
function namesIn(body: Readonly<Record<string, unknown>>, { name }: Route): unknown[] {
  if (name !== "epsilon") return body["model"] === undefined ? [] : [body["model"]];
  // no table refuses another spelling of these
  const other = Object.keys(body).find(
    (key) => /^model[_-]?(?:name|id)?$/i.test(key) && !/^model(?:_name)?$/.test(key),
  );
  if (other !== undefined) throw invalid("name the model as `model` or `model_name`", other);
  const given = [body["model"], body["model_name"]].filter((named) => named !== undefined && named !== null);
  return given.length > 0 ? given : ["epsilon"];
}

function modelNotAllowed(): Refusal {
  return new Refusal(
    403,
    "model_not_allowed",
    "this model may not be asked here; the proxy's operator lists `models`",
    { param: "model" },
  );
}

/** Writes the newer name of a field as the one that the gateway has. */
function renameTokens(body: Record<string, unknown>): void {
  const newer = body["max_completion_tokens"] ?? undefined;
  delete body["max_completion_tokens"];
  if (newer === undefined) return;
  if ((body["max_tokens"] ?? newer) !== newer)
    throw invalid("say max_tokens alone: the two names mean the same", "max_completion_tokens");
  body["max_tokens"] = newer;
}

const SCHEME = "asset://";
/** A text that could be read as an asset's address, with what some readers of addresses leave out. */
const LIKE_ASSET = /^[\s\p{Cc}]*a\p{Cc}*s\p{Cc}*s\p{Cc}*e\p{Cc}*t\p{Cc}*:/iu;

/** @throws {Refusal} 404 */
function assetIn(uri: string, tenancy: Tenancy): Promise<string> {
  return ownAsset(uri.startsWith(SCHEME) ? uri.slice(SCHEME.length) : undefined, tenancy);
}

/** @throws {Refusal} 404 */
async function ownAsset(sentId: unknown, tenancy: Tenancy | undefined): Promise<string> {
  const id = typeof sentId === "string" ? await ownId(tenancy, "asset", sentId) : undefined;
  if (id === undefined)
    throw new Refusal(404, "asset_not_found", "there is no such asset, or it is not yours");
  return id;
}
