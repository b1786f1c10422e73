import type { Admitted, User } from "../admitted.js";
import type { Limits, Media } from "../options.js";
import { decided, Refusal } from "../refusal.js";
import type { IdKind } from "../routes.js";
import type { Address, Caps } from "./fields.js";
import type { Route } from "./path.js";

/* Loaded where ids are signed, and for requests with ids or addresses of media in them, or for epsilon. */

/** Keeps users apart who share one key: an id leaves the proxy with the mark of the user who made it. */
export type Tenancy = ReturnType<typeof tenancyOf>;

/** Length of a mark: 132 bits. */
export const MARK = 22;

/** @param secrets the first one signs, each of them is known */
export function tenancyOf(secrets: readonly string[], { id: userId }: User) {
  const [first = ""] = secrets;
  return {
    sign: async (kind: IdKind, id: string) => `${id}_${await markOf(first, kind, id)}`,
    /** Returns the gateway's own id; undefined where this user was not given it. */
    async verify(kind: IdKind, signed: string): Promise<string | undefined> {
      const id = signed.slice(0, -MARK - 1);
      for (const secret of secrets) if (isSame(signed, `${id}_${await markOf(secret, kind, id)}`)) return id;
      return undefined;
    },
    /** Returns the gateway's name for the user: always the same, and no way back to the user. */
    pseudonym: () => markOf(first, "user", ""),
  };

  // the user's id may hold anything, and comes last: nothing else can be read into it
  function markOf(secret: string, kind: string, id: string): Promise<string> {
    return signatureOf(secret, `${kind}:${id}:${userId}`);
  }
}

const encoder = new TextEncoder();

/** Signs a text with a secret, in {@link MARK} letters that an address may have. */
export async function signatureOf(secret: string, text: string): Promise<string> {
  const hash = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), hash, false, ["sign"]);
  const mark = await crypto.subtle.sign("HMAC", key, encoder.encode(text));
  return lettersOf(new Uint8Array(mark));
}

/** The first {@link MARK} letters of bytes in Base64 for addresses. */
export function lettersOf(bytes: Uint8Array): string {
  const base64 = btoa(String.fromCharCode(...bytes));
  return base64.slice(0, MARK).replaceAll("+", "-").replaceAll("/", "_");
}

/** Takes the same time wherever they differ. */
export function isSame(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let at = 0; at < one.length; at += 1) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}

const ID = /^[A-Za-z0-9_-]{1,128}$/;

/**
 * Returns the gateway's own id for the id that a user sent.
 *
 * @throws {Refusal} 404 where there is none, or it is another user's
 */
export async function ownId(tenancy: Tenancy | undefined, kind: IdKind, sentId: string): Promise<string> {
  const id = tenancy ? await tenancy.verify(kind, sentId) : sentId;
  if (id !== undefined && ID.test(id)) return id;
  throw new Refusal(kind === "asset" ? "asset_not_found" : "task_not_found");
}

/**
 * Admits a request that names one task or asset, in its path or in the body of a lookup.
 *
 * @throws {Refusal} 404 where there is none, or it is another user's
 */
export async function admitId<Env>(
  { ids }: Route,
  idInPath: string | undefined,
  body: Readonly<Record<string, unknown>> | undefined,
  tenancy: Tenancy | undefined,
  asked: Admitted<Env>,
): Promise<Admitted<Env>> {
  // what is no text in a lookup is no id
  const sentId = idInPath ?? (typeof body?.["Id"] === "string" ? body["Id"] : "");
  const id = ids ? await ownId(tenancy, ids, sentId) : sentId;
  return { ...asked, id, sentId, ...(body && { body: { Id: id } }) };
}

/** @throws {Refusal} 403 unless the operator has listed groups of assets: a cap alone says who may use which */
export function checkGroups(model: string, models: ReadonlyMap<string, Caps>): void {
  if (Object.hasOwn(models.get(model) ?? {}, "GroupId")) return;
  throw new Refusal("no_groups", { what: model, param: "GroupId", advice: model });
}

/** The models that a body for epsilon names; what is no text is not listed anywhere. */
export function namesIn(body: Readonly<Record<string, unknown>>): readonly [string, ...string[]] {
  // no table refuses another spelling of these
  const other = Object.keys(body).find(
    (key) => /^model[_-]?(?:name|id)?$/i.test(key) && !/^model(?:_name)?$/.test(key),
  );
  if (other !== undefined) throw new Refusal("model_misnamed", { param: other });
  const given = [body["model"], body["model_name"]].filter((named) => (named ?? undefined) !== undefined);
  const [first = "epsilon", ...others] = given as string[];
  return [first, ...others];
}

/** An address in which all parsers find the same host; a backslash, an `@`, a tab or a `#` divides them. */
const PLAIN = /^[a-z][a-z\d+.-]*:\/\/[\p{L}\p{M}\p{N}.:[\]-]+(?:\/\P{Cc}*)?$/iu;
/** A file in the request itself. SVG is not listed: it can name further addresses. */
const DATA = /^data:image\/(?:jpe?g|png|gif|webp|bmp|avif|hei[cf]);base64,/i;
/** The first bytes of JPEG, PNG, GIF, WebP, BMP, AVIF and HEIC files. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a BMP has zeros there
const IMAGE = /^(?:\xff\xd8\xff|\x89PNG\r\n\x1a\n|GIF8[79]a|RIFF.{4}WEBP|BM.{4}\0{4}|.{4}ftyp)/s;

/** @throws {Refusal} 400 `media_not_allowed` for what the gateway should not fetch for a user */
async function checkMedia(text: string, path: string, media: Media, mostBytes: number): Promise<void> {
  if (media === "any") return;
  const url = PLAIN.test(text) ? URL.parse(text) : null;
  let what = "must be a public https address, or an image in Base64";
  const isData = isFile(text);
  if (isData && text.length * 0.75 <= mostBytes) return;
  if (isData) what = "is too large";
  // a promise is truthy, whatever it resolves to
  else if (url && typeof media === "function") {
    if (await decided("media", "media_unavailable", () => media(url) === true)) return;
  } else if (url && isPublic(url)) return;
  throw new Refusal("media_not_allowed", { param: path || undefined, what });
}

/** Returns true for a text that is a file itself, and no address of one. */
export function isFile(text: string): boolean {
  return DATA.test(text) || isBase64OfImage(text);
}

/** Paths and names can be spelled in the letters of Base64: the first bytes have to be those of an image. */
function isBase64OfImage(text: string): boolean {
  if (!/^[\w+/=\s-]+$/.test(text)) return false;
  const head = text.slice(0, 64).replace(/\s/g, "").replaceAll("-", "+").replaceAll("_", "/");
  try {
    return IMAGE.test(atob(head.slice(0, head.length - (head.length % 4))));
  } catch {
    return false;
  }
}

/** Returns true for an https address with a public name. Numbers are refused: private ones have many spellings. */
export function isPublic({ protocol, hostname, port }: URL): boolean {
  return (
    protocol === "https:" &&
    port === "" &&
    /\.[a-z][a-z0-9-]*\.?$/.test(hostname) &&
    !/\.(?:localhost|localdomain|local|internal|intranet|private|lan|home|corp|svc|consul|arpa|test|invalid|onion)\.?$/.test(
      hostname,
    )
  );
}

/** A text that could be read as an asset's address, with what some readers of addresses leave out. */
const LIKE_ASSET = /^[\s\p{Cc}]*a\p{Cc}*s\p{Cc}*s\p{Cc}*e\p{Cc}*t\p{Cc}*:/iu;

/** Checks one address. That of an asset becomes the one that the gateway knows. */
export async function checkAddress(
  { owner, name, path, takesAssets }: Address,
  { media, limits }: { readonly media: Media; readonly limits: Required<Pick<Limits, "dataURIBytes">> },
  tenancy: Tenancy | undefined,
): Promise<void> {
  const text = owner[name] as string;
  if (LIKE_ASSET.test(text)) {
    const [, sent] = /^asset:\/\/([\w-]+)$/.exec(text) ?? [];
    const what = takesAssets ? "must be asset://<id> for an asset" : "takes no asset of this gateway";
    // its shape comes first: whose asset it is can't be told of what is none
    if (!sent || !takesAssets) throw new Refusal("media_not_allowed", { param: path || undefined, what });
    if (tenancy) owner[name] = `asset://${await ownId(tenancy, "asset", sent)}`;
  } else await checkMedia(text, path, media, limits.dataURIBytes);
}
