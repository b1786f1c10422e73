import type { Address, CheckRules } from "../api/routes.js";
import { checkAddress, isDataURI, isLikeAsset, refuseMedia } from "./addresses.js";
import { verifyId } from "./ids.js";

/** The first bytes of JPEG, PNG, GIF, WebP, BMP, AVIF and HEIC files. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: a BMP has zeros there
const IMAGE = /^(?:\xff\xd8\xff|\x89PNG\r\n\x1a\n|GIF8[79]a|RIFF.{4}WEBP|BM.{4}\0{4}|.{4}ftyp)/s;

/** Returns true for a file in Base64 or in a data URI. Returns false for an address. */
function isFile(text: string): boolean {
  return isDataURI(text) || isBase64Image(text);
}

/** Paths and names can consist of Base64 characters, so the first bytes must be the signature of an image. */
function isBase64Image(text: string): boolean {
  if (!/^[\w+/=\s-]+$/.test(text)) return false;
  const head = text.slice(0, 64).replace(/\s/g, "").replaceAll("-", "+").replaceAll("_", "/");
  try {
    return IMAGE.test(atob(head.slice(0, head.length - (head.length % 4))));
  } catch {
    return false;
  }
}

/** Checks an address of the routes that take files. The address of an asset gets the gateway's id. */
export async function checkMediaAddress(address: Address, rules: CheckRules): Promise<boolean> {
  const { owner, name, path, takesAssets } = address;
  const text = owner[name] as string;
  if (!takesAssets || !isLikeAsset(text)) return await checkAddress(address, rules, isFile);
  const [, sent] = /^asset:\/\/([\w-]+)$/.exec(text) ?? [];
  // the shape comes first: only a well-formed address has an owner
  if (!sent) throw refuseMedia(path, "must be asset://<id> for an asset");
  if (rules.tenancy) owner[name] = `asset://${await verifyId(rules.tenancy, "asset", sent)}`;
  return true;
}
