import { toJSONText } from "../types/errors.js";

/**
 * Creates a short fingerprint of a value's JSON; undefined for a value without JSON. Different values may share one.
 *
 * @example
 * ```ts
 * const fingerprint = createFingerprint({ model: "delta-5.3", messages: [] });
 * ```
 */
export function createFingerprint(value: unknown): string | undefined {
  const text = toJSONText(value);
  // if two requests share a fingerprint, the proxy still compares their bodies
  return text === undefined ? undefined : `${text.length}-${hashText(text)}`;
}

/** Computes the 32-bit FNV-1a hash of a text. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/**
 * Hashes a text to an id of 128 bits. The same text gives the same id on all devices.
 *
 * @example
 * ```ts
 * const key = hashToId("turn 7 of the chat trip");
 * ```
 */
export function hashToId(text: string): string {
  return [0, 1, 2, 3].map((word) => hashText(`${word} ${text}`)).join("-");
}
