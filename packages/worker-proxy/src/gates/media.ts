import type { Limits, Media } from "../options.js";
import { decided, Refusal } from "../refusal.js";
import type { Address } from "./fields.js";
import { ownId, type Tenancy } from "./ids.js";

/* Loaded for requests with addresses of media. */

/**
 * An address that everybody reads alike. A backslash, an `@`, a tab or a `#` behind the host leads some readers to
 * another host, and what was checked here would not be where the gateway goes.
 */
const PLAIN = /^[a-z][a-z\d+.-]*:\/\/[\p{L}\p{M}\p{N}.:[\]-]+(?:\/\P{Cc}*)?$/iu;
/** A file in the request itself. SVG is not listed: it can name further addresses. */
const DATA = /^data:image\/(?:jpe?g|png|gif|webp|bmp|avif|hei[cf]);base64,/i;
/** The first bytes of JPEG, PNG, GIF, WebP, BMP, AVIF and HEIC files. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a BMP has zeros there
const IMAGE = /^(?:\xff\xd8\xff|\x89PNG\r\n\x1a\n|GIF8[79]a|RIFF.{4}WEBP|BM.{4}\0{4}|.{4}ftyp)/s;
/**
 * Refuses what the gateway should not be sent to fetch on a user's word: addresses inside somebody's network, files,
 * pages without TLS, and data that is too large.
 *
 * @throws {Refusal} 400 `media_not_allowed`
 */
async function checkMedia(text: string, path: string, media: Media, mostBytes: number): Promise<void> {
  if (media === "any" || /^asset:/.test(text)) return;
  if (DATA.test(text) || isBase64OfImage(text)) {
    if (text.length * 0.75 > mostBytes) throw refused(path, "is too large");
  } else if (!PLAIN.test(text) || !URL.canParse(text) || !(await isAllowed(new URL(text), media)))
    throw refused(path, "must be a public https address, or an image in Base64");
}

async function isAllowed(url: URL, media: Media): Promise<boolean> {
  if (typeof media !== "function") return isPublic(url);
  // a promise is true to everybody, whatever it will say
  const isTrue = () => media(url) === true;
  return await decided("media", "media_unavailable", isTrue);
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

/** By name, and by one that is known everywhere. No number: those of private networks have many spellings. */
function isPublic({ protocol, hostname, port }: URL): boolean {
  return (
    protocol === "https:" &&
    port === "" &&
    /\.[a-z][a-z0-9-]*\.?$/.test(hostname) &&
    !/\.(?:localhost|localdomain|local|internal|intranet|private|lan|home|corp|svc|consul|arpa|test|invalid|onion)\.?$/.test(
      hostname,
    )
  );
}

function refused(param: string, problem: string): Refusal {
  return new Refusal("media_not_allowed", { param: param || undefined, what: problem });
}

const SCHEME = "asset://";
/** A text that could be read as an asset's address, with what some readers of addresses leave out. */
const LIKE_ASSET = /^[\s\p{Cc}]*a\p{Cc}*s\p{Cc}*s\p{Cc}*e\p{Cc}*t\p{Cc}*:/iu;

/** Checks one address. That of an asset becomes the one that the gateway knows. */
export async function checkAddress(
  { owner, name, path }: Address,
  { media, limits }: { readonly media: Media; readonly limits: Required<Pick<Limits, "dataURIBytes">> },
  tenancy: Tenancy | undefined,
): Promise<void> {
  const text = owner[name] as string;
  if (tenancy && LIKE_ASSET.test(text)) {
    const sent = text.startsWith(SCHEME) ? text.slice(SCHEME.length) : "";
    owner[name] = SCHEME + (await ownId(tenancy, "asset", sent));
  } else await checkMedia(text, path, media, limits.dataURIBytes);
}
