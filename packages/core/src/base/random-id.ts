/** Makes an id of 128 random bits. Pages over plain http have no `randomUUID`. */
export function createRandomId(): string {
  return createRandomWords().join("-");
}

/** Makes 128 random bits. Some engines have no `crypto`: an id has to be unique there, and is no secret. */
export function createRandomWords(): Uint32Array {
  const words = new Uint32Array(4);
  return globalThis.crypto ? crypto.getRandomValues(words) : words.map(() => Math.random() * 2 ** 32);
}

/** Ids and keys that this library makes: nothing else has the same one. */
export const OWN = /^\d+(-\d+){3}$/;
