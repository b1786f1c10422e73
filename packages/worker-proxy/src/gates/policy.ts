import { Refusal } from "../refusal.js";
import type { Settings, Setup } from "../settings.js";
import { capped } from "./caps.js";
import { ownId, type Tenancy } from "./ids.js";
import { checkMedia } from "./media.js";
import { belongsTo, hasOwnFields, type Route } from "./path.js";

/**
 * The body that may leave, within what the operator allows.
 *
 * @throws {Refusal} 403 for a model that may not be asked here, 400 for what is beyond a limit, 404 for an asset that
 *   is not this user's
 */
export async function allowedBody<Env>(
  body: Record<string, unknown>,
  route: Route,
  { models }: Setup,
  settings: Settings<Env>,
  tenancy: Tenancy | undefined,
): Promise<Readonly<Record<string, unknown>> & { readonly model?: string }> {
  if (route.isLookup) return { Id: await ownAsset(body["Id"], tenancy) };
  const { model } = body;
  const caps = typeof model === "string" ? models.get(model) : undefined;
  if (!caps || typeof model !== "string" || !belongsTo(model, route.name))
    throw new Refusal(
      403,
      "model_not_allowed",
      "this model may not be asked here; the proxy's operator lists `models`",
      { param: "model" },
    );
  const maxTokens = route.name === "chat" ? settings.limits.maxTokens : undefined;
  // a name that users choose could be another user's
  const { user_id, ...allowed } = capped(body, model, caps, maxTokens);
  checkMedia(allowed, settings);
  if (!tenancy) return { ...allowed, model };
  const pseudonym = hasOwnFields(model) ? { user_id: await tenancy.pseudonym() } : {};
  return { ...(await withOwnAssets(allowed, tenancy)), ...pseudonym, model };
}

const SCHEME = "asset://";
/**
 * What somebody could read as an address of an asset, with what some readers of addresses leave out. Not what people
 * write: "Asset: gold, silver".
 */
const LIKE_ASSET = /^[\s\p{Cc}]*a\p{Cc}*s\p{Cc}*s\p{Cc}*e\p{Cc}*t\p{Cc}*:(?:\S|\p{Cc}*\/)/iu;

/** The same with the gateway's own ids of assets, each of which has to be this user's. */
async function withOwnAssets(
  body: Record<string, unknown>,
  tenancy: Tenancy,
): Promise<Record<string, unknown>> {
  const sent = new Set<string>();
  withTexts(body, (text) => {
    if (LIKE_ASSET.test(text)) sent.add(text);
    return text;
  });
  const own = new Map<string, string>();
  for (const uri of sent) {
    if (!uri.startsWith(SCHEME)) throw notOwn();
    own.set(uri, SCHEME + (await ownAsset(uri.slice(SCHEME.length), tenancy)));
  }
  return withTexts(body, (text) => own.get(text) ?? text) as Record<string, unknown>;
}

function withTexts(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((entry) => withTexts(entry, change));
  if (typeof value !== "object" || value === null || value instanceof Blob) return value;
  return Object.fromEntries(Object.entries(value).map(([name, entry]) => [name, withTexts(entry, change)]));
}

async function ownAsset(sentId: unknown, tenancy: Tenancy | undefined): Promise<string> {
  const id = typeof sentId === "string" ? await ownId(tenancy, "asset", sentId) : undefined;
  if (id === undefined) throw notOwn();
  return id;
}

function notOwn(): Refusal {
  return new Refusal(404, "asset_not_found", "there is no such asset, or it is not yours");
}
