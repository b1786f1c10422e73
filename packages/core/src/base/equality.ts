import { toJSONText } from "../vocabulary/errors.js";

/**
 * Compares two values like their JSON: arrays and plain objects by their fields, other values, such as files, by
 * identity. An undefined field counts as absent.
 */
export function isEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (!isPlain(one) || !isPlain(other) || Array.isArray(one) !== Array.isArray(other)) return false;
  return [...new Set([...Object.keys(one), ...Object.keys(other)])].every((name) =>
    isEqual(readField(one, name), readField(other, name)),
  );
}

/**
 * Creates a short fingerprint of a value's JSON; undefined for a value without JSON. Different values may share one.
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

/** Hashes a text to an id of 128 bits. The same text gives the same id on all devices. */
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
