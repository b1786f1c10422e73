const encoder = new TextEncoder();

/** Length of a mark: 132 bits. */
export const MARK_LENGTH = 22;

/**
 * Signs a text with HMAC-SHA-256. Returns the first 132 bits of the signature as 22 characters that a URL may have. Begin
 * the text with a prefix of the plugin, so that a mark fits only one purpose.
 *
 * @example
 * ```ts
 * const mark = await signMark(env.PROXY_SECRET, "invite:ada");
 * ```
 */
export async function signMark(secret: string, text: string): Promise<string> {
  const hash = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), hash, false, ["sign"]);
  const mark = await crypto.subtle.sign("HMAC", key, encoder.encode(text));
  const base64 = btoa(String.fromCharCode(...new Uint8Array(mark)));
  return base64.slice(0, MARK_LENGTH).replaceAll("+", "-").replaceAll("/", "_");
}

/**
 * Compares in constant time, so that a client can't guess a mark character by character.
 *
 * @example
 * ```ts
 * const mark = await signMark(env.PROXY_SECRET, "invite:ada");
 * const isValid = isSameMark(mark, "a mark of a request");
 * ```
 */
export function isSameMark(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let at = 0; at < one.length; at += 1) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}

/** Signs the name of a user for the gateway: always the same, and no way back to the user. */
export function signUser([secret = ""]: readonly string[], userId: string): Promise<string> {
  return signMark(secret, `user::${userId}`);
}
