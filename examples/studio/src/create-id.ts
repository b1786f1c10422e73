/** 128 random bits; not `randomUUID`, which plain-http pages do not have. */
export function createId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (word) => word.toString(36)).join("");
}
