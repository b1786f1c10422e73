/**
 * Creates an id of at least 122 random bits. Pages over plain HTTP lack `randomUUID`, so
 * their ids are four numbers.
 *
 * @example
 * ```ts
 * const idempotencyKey = createRandomId();
 * ```
 */
export function createRandomId(): string {
  return globalThis.crypto?.randomUUID?.() ?? createRandomWords().join("-");
}

/** Creates 128 random bits. Some engines lack `crypto`. An id must be unique, but is not a secret. */
function createRandomWords(): Uint32Array {
  const words = new Uint32Array(4);
  return globalThis.crypto ? crypto.getRandomValues(words) : words.map(() => Math.random() * 2 ** 32);
}
