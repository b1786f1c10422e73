const encoder = new TextEncoder();

/** Length of a mark: 132 bits. */
export const MARK = 22;

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

/** Signs the name of a user for the gateway: always the same, and no way back to the user. */
export function signUser([secret = ""]: readonly string[], userId: string): Promise<string> {
  return signatureOf(secret, `user::${userId}`);
}
