import { toJSONText } from "../vocabulary/errors.js";

/**
 * Compares two values as JSON would have them: arrays and plain objects by their fields, all others, such as files, by
 * identity. A field that is undefined counts as absent.
 */
export function isEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (!isPlain(one) || !isPlain(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].every((name) =>
    isEqual(readField(one, name), readField(other, name)),
  );
}

/** Makes a short text by which equal JSON is found again; undefined for what is no JSON. It is no proof. */
export function createFingerprint(value: unknown): string | undefined {
  const text = toJSONText(value);
  // where two requests share a text, the proxy still compares their bodies
  return text === undefined ? undefined : `${text.length}-${hashText(text)}`;
}

/** Makes a number of 32 bits of a text: FNV-1a. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  return hash >>> 0;
}

/** Makes 128 bits of a text that has as many, in the form of an id. The same text gives the same id on all devices. */
export function hashToId(text: string): string {
  return [0, 1, 2, 3].map((word) => hashText(`${word} ${text}`)).join("-");
}

function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return Array.isArray(value) || prototype === Object.prototype || prototype === null;
}

function readField(value: object, name: string): unknown {
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
}
