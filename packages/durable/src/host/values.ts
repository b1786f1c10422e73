import type { SQL, Value } from "@sluice/worker-proxy/plugin";

/** String methods that the types of ES2023 lack. */
interface UnicodeText {
  isWellFormed(): boolean;
  toWellFormed(): string;
}

/** Returns the statement for a database. */
export function readSQL(sql: SQL, database: "sqlite" | "postgres"): string {
  return typeof sql === "string" ? sql : sql[database];
}

/**
 * Returns the values of a statement. A lone surrogate becomes U+FFFD, because databases replace it in different ways.
 *
 * @throws {TypeError} for other values that databases store in different ways: NUL, fractions, unsafe integers
 */
export function checkValues(values: readonly Value[]): Value[] {
  return values.map((value) => {
    const isPortable =
      typeof value === "string" ? !value.includes("\0") : value === null || Number.isSafeInteger(value);
    if (!isPortable) throw new TypeError("a value is a text without NUL, a whole number below 2^53, or null");
    return typeof value === "string" ? (value as unknown as UnicodeText).toWellFormed() : value;
  });
}

/**
 * Returns a key that every host accepts. The bound fits an index entry and a notification of Postgres.
 *
 * @throws {TypeError} unless the key has 1 to 500 characters, without NUL and lone surrogates
 */
export function checkKey(key: string): string {
  const isText = typeof key === "string" && (key as unknown as UnicodeText).isWellFormed();
  if (!isText || key.length === 0 || key.length > 500 || key.includes("\0"))
    throw new TypeError("a key has 1 to 500 characters, without NUL");
  return key;
}
