/**
 * Returns the SHA-256 of a text, in hex. Use it to name a user in a key: logs and dashboards of the platform show keys.
 *
 * @example
 * ```ts
 * const key = await hashText("ada");
 * ```
 */
export async function hashText(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
