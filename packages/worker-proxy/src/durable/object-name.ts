import type { ObjectNamespace } from "./platform.js";

/** The object of this name; the same one from everywhere. */
export function objectNamed(namespace: ObjectNamespace, name: string) {
  return namespace.get(namespace.idFromName(name) as never);
}

/** A text's SHA-256, in hex. It stands for a user in an object's name, which shows in the platform's logs and dashboards. */
export async function hashOf(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
