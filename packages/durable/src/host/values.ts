import type { Value } from "@sluice/worker-proxy";

/**
 * Returns the values of a statement.
 *
 * @throws {TypeError} for values that databases store in different ways
 */
export function checkValues(values: readonly Value[]): Value[] {
  for (const value of values) {
    const isPortable =
      typeof value === "string" ? !value.includes("\0") : value === null || Number.isSafeInteger(value);
    if (!isPortable) throw new TypeError("a value is a text without NUL, a whole number up to 2^53, or null");
  }
  return [...values];
}

/**
 * Returns a key that every host takes: an index entry and a notification of Postgres hold it.
 *
 * @throws {TypeError} for any other
 */
export function checkKey(key: string): string {
  if (key.length === 0 || key.length > 500 || key.includes("\0"))
    throw new TypeError("a key has 1 to 500 characters, without NUL");
  return key;
}
