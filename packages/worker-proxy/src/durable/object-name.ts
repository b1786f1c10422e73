import { misconfigured } from "../refusal.js";
import type { ObjectNamespace } from "./platform.js";

/**
 * The object of this name; the same one from everywhere.
 *
 * @throws {Refusal} 500 `misconfigured` where the Worker's configuration does not bind its class
 */
export function objectNamed(namespace: ObjectNamespace | undefined, name: string) {
  if (!namespace) throw misconfigured("durable: a namespace is missing; bind its class in durable_objects");
  return namespace.get(namespace.idFromName(name) as never);
}

/** A text's SHA-256, in hex. It stands for a user in an object's name, which shows in the platform's logs and dashboards. */
export async function hashOf(text: string): Promise<string> {
  const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return [...new Uint8Array(hash)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
