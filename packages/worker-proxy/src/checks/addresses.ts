import type { Address, CheckRules } from "../api/routes.js";
import { decide, Refusal } from "../refusals/refusal.js";

/** An address whose host all parsers agree on. They differ after a backslash, an `@`, a tab or a `#`. */
const PLAIN = /^[a-z][a-z\d+.-]*:\/\/[\p{L}\p{M}\p{N}.:[\]-]+(?:\/\P{Cc}*)?$/iu;
/** A file in the request itself. SVG is not listed: it can name further addresses. */
const DATA = /^data:image\/(?:jpe?g|png|gif|webp|bmp|avif|hei[cf]);base64,/i;
/** A text that could be read as an asset's address, also by readers that leave out control characters. */
const LIKE_ASSET = /^[\s\p{Cc}]*a\p{Cc}*s\p{Cc}*s\p{Cc}*e\p{Cc}*t\p{Cc}*:/iu;

/** Returns true for a text that could be read as the address of an asset. */
export function isLikeAsset(text: string): boolean {
  return LIKE_ASSET.test(text);
}

/** Returns true for an image in a data URI. */
export function isDataURI(text: string): boolean {
  return DATA.test(text);
}

/**
 * @returns true for an address, false for a file in the body
 * @throws {Refusal} 400 `media_not_allowed` for an address that the gateway should not fetch for a user
 */
export async function checkAddress(
  { owner, name, path }: Address,
  { mediaURLs, limits }: Pick<CheckRules, "mediaURLs" | "limits">,
  isFile = isDataURI,
): Promise<boolean> {
  const text = owner[name] as string;
  if (isLikeAsset(text)) throw refuseMedia(path, "takes no asset of this gateway");
  if (isFile(text)) {
    if (mediaURLs === "any" || text.length * 0.75 <= limits.maxDataURIBytes) return false;
    throw refuseMedia(path, "is too large");
  }
  if (mediaURLs === "any") return true;
  const url = PLAIN.test(text) ? URL.parse(text) : null;
  const isAllowed = mediaURLs === "public" ? isPublicURL : mediaURLs;
  // a promise is truthy, whatever it resolves to
  if (url && (await decide("mediaURLs", "media_unavailable", () => isAllowed(url) === true))) return true;
  throw refuseMedia(path, "must be a public https address, or an image in Base64");
}

/** Refuses the address of a field. */
export function refuseMedia(path: string, what: string): Refusal {
  return new Refusal("media_not_allowed", { param: path || undefined, what });
}

/**
 * Returns true for an https address with a public host name. Returns false for an IP address, because a private one has
 * many spellings.
 *
 * @example
 * ```ts
 * isPublicURL(new URL("https://files.example.com/cat.png")); // true
 * isPublicURL(new URL("https://10.0.0.1/")); // false
 * ```
 */
export function isPublicURL({ protocol, hostname, port }: URL): boolean {
  return (
    protocol === "https:" &&
    port === "" &&
    /\.[a-z][a-z0-9-]*\.?$/.test(hostname) &&
    !/\.(?:localhost|localdomain|local|internal|intranet|private|lan|home|corp|svc|consul|arpa|test|invalid|onion)\.?$/.test(
      hostname,
    )
  );
}
