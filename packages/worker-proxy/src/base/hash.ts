/** SHA-256 of a text, in hex. It stands for a user in an object's name, which the platform's logs and dashboards show. */
export async function hashText(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
