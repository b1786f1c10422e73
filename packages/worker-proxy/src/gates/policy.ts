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
 * The body that may leave, within what the operator allows. It is the one that was given, changed in place.
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
  const { model = "" } = body;
  const caps = typeof model === "string" && belongsTo(model, route.name) ? models.get(model) : undefined;
  if (model !== "" && !caps) throw modelNotAllowed();
  const name = model as string;
  if (route.name === "chat") renameTokens(body);
  const table = settings.fieldsOf(route, name);
  const { dropped, addresses } = siftBody(body, table);
  if (route.isLookup) return { body: { Id: await ownAsset(body["Id"], tenancy) }, dropped: [...dropped] };
  if (!caps) throw modelNotAllowed();
  if (route.name === "assets" && !Object.hasOwn(caps, "GroupId"))
    throw new Refusal(
      403,
      "limit_exceeded",
      `no group of assets may be used; the proxy's operator lists them, models: { "${name}": { GroupId: ["…"] } }`,
      { param: "GroupId", advice: name },
    );
  holdCaps(body, table, name, caps, route.name === "chat" ? settings.limits.maxTokens : undefined);
  const own = new Map<string, string>();
  for (const address of addresses) {
    const { text } = address;
    if (tenancy && LIKE_ASSET.test(text)) {
      const id = own.get(text) ?? (await assetIn(text, tenancy));
      own.set(text, id);
      address.replace(SCHEME + id);
    } else checkMedia(address, settings);
  }
  if (tenancy && hasOwnFields(name)) body["user_id"] = await tenancy.pseudonym();
  return { body, model: name, dropped: [...dropped] };
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
