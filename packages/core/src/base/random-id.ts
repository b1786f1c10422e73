/** Creates an id of 128 random bits. Pages over plain HTTP lack `randomUUID`. */
export function createRandomId(): string {
  return createRandomWords().join("-");
}

/** Creates 128 random bits. Some engines lack `crypto`. An id must be unique, but is not a secret. */
export function createRandomWords(): Uint32Array {
  const words = new Uint32Array(4);
  return globalThis.crypto ? crypto.getRandomValues(words) : words.map(() => Math.random() * 2 ** 32);
}

/** Matches the ids and keys that this library creates. */
export const OWN = /^\d+(-\d+){3}$/;
