const encoder = new TextEncoder();

/** Length of a mark: 132 bits. */
export const MARK_LENGTH = 22;

/**
 * Creates and verifies the marks of texts: the first 132 bits of HMAC-SHA-256, as 22 characters that a URL may have. Begin a
 * text with a prefix of the plugin, so that a mark fits only one purpose.
 *
 * @param secrets the first secret signs, and all of them verify
 * @example
 * ```ts
 * const { sign, verify } = createSigner([env.PROXY_SECRET]);
 * const isValid = await verify("invite:ada", await sign("invite:ada")); // true
 * ```
 */
export function createSigner(secrets: readonly string[]) {
  const [first = ""] = secrets;
  return {
    sign: (text: string) => signText(first, text),
    async verify(text: string, mark: string): Promise<boolean> {
      for (const secret of secrets) if (isSameMark(mark, await signText(secret, text))) return true;
      return false;
    },
  };
}

async function signText(secret: string, text: string): Promise<string> {
  const hash = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), hash, false, ["sign"]);
  const mark = await crypto.subtle.sign("HMAC", key, encoder.encode(text));
  const base64 = btoa(String.fromCharCode(...new Uint8Array(mark)));
  return base64.slice(0, MARK_LENGTH).replaceAll("+", "-").replaceAll("/", "_");
}

/** Compares in constant time, so that a client can't guess a mark character by character. */
function isSameMark(one: string, other: string): boolean {
  let difference = one.length ^ other.length;
  for (let at = 0; at < one.length; at += 1) difference |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return difference === 0;
}

/** Signs the name of a user for the gateway: always the same, and no way back to the user. */
export function signUser([secret = ""]: readonly string[], userId: string): Promise<string> {
  return signText(secret, `user::${userId}`);
}
