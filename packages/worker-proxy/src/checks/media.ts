import type { MediaURLs } from "../api/options.js";
import { decided, Refusal } from "../refusals/refusal.js";
import type { Address } from "./fields.js";
import { ownId, type Tenancy } from "./ids.js";

/** An address in which all parsers find the same host; a backslash, an `@`, a tab or a `#` divides them. */
const PLAIN = /^[a-z][a-z\d+.-]*:\/\/[\p{L}\p{M}\p{N}.:[\]-]+(?:\/\P{Cc}*)?$/iu;
/** A file in the request itself. SVG is not listed: it can name further addresses. */
const DATA = /^data:image\/(?:jpe?g|png|gif|webp|bmp|avif|hei[cf]);base64,/i;
/** The first bytes of JPEG, PNG, GIF, WebP, BMP, AVIF and HEIC files. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a BMP has zeros there
const IMAGE = /^(?:\xff\xd8\xff|\x89PNG\r\n\x1a\n|GIF8[79]a|RIFF.{4}WEBP|BM.{4}\0{4}|.{4}ftyp)/s;

/** @throws {Refusal} 400 `media_not_allowed` for what the gateway should not fetch for a user */
async function checkMedia(text: string, path: string, mediaURLs: MediaURLs, maxBytes: number): Promise<void> {
  if (mediaURLs === "any") return;
  const url = PLAIN.test(text) ? URL.parse(text) : null;
  let what = "must be a public https address, or an image in Base64";
  const isData = isFile(text);
  if (isData && text.length * 0.75 <= maxBytes) return;
  if (isData) what = "is too large";
  // a promise is truthy, whatever it resolves to
  else if (url && typeof mediaURLs === "function") {
    if (await decided("mediaURLs", "media_unavailable", () => mediaURLs(url) === true)) return;
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

/** A text that could be read as an asset's address, also by readers that leave out control characters. */
const LIKE_ASSET = /^[\s\p{Cc}]*a\p{Cc}*s\p{Cc}*s\p{Cc}*e\p{Cc}*t\p{Cc}*:/iu;

/** The rules for addresses in a body. */
export interface AddressRules {
  readonly mediaURLs: MediaURLs;
  /** The largest file in the body itself, in bytes. */
  readonly maxBytes: number;
  /** The marks of this user's assets; undefined where all callers are one user. */
  readonly tenancy: Tenancy | undefined;
}

/** Checks one address. That of an asset becomes the one that the gateway knows. */
export async function checkAddress(
  { owner, name, path, takesAssets }: Address,
  { mediaURLs, maxBytes, tenancy }: AddressRules,
): Promise<void> {
  const text = owner[name] as string;
  if (LIKE_ASSET.test(text)) {
    const [, sent] = /^asset:\/\/([\w-]+)$/.exec(text) ?? [];
    const what = takesAssets ? "must be asset://<id> for an asset" : "takes no asset of this gateway";
    // its shape comes first: a text that is no asset's address has no owner
    if (!sent || !takesAssets) throw new Refusal("media_not_allowed", { param: path || undefined, what });
    if (tenancy) owner[name] = `asset://${await ownId(tenancy, "asset", sent)}`;
  } else await checkMedia(text, path, mediaURLs, maxBytes);
}
