/** Makes an id of 128 random bits. Pages over plain http have no `randomUUID`. */
export function randomId(): string {
  return crypto.getRandomValues(new Uint32Array(4)).join("-");
}
