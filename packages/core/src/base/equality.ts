import { toJSONText } from "../types/json-text.js";
import { createRandomId } from "./random-id.js";

/** Computes the 32-bit FNV-1a hash of a text. */
function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1)
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return hash >>> 0;
}

/**
 * Hashes a text, or the JSON of another value, to an id of 128 bits. Equal values have the same id on all devices. A
 * value without JSON gets a random id.
 *
 * @example
 * ```ts
 * const key = hashToId({ model: "delta-5.3", messages: [] });
 * ```
 */
export function hashToId(value: unknown): string {
  const text = typeof value === "string" ? value : (toJSONText(value) ?? createRandomId());
  return [0, 1, 2, 3].map((salt) => hashText(`${salt} ${text}`)).join("-");
}
