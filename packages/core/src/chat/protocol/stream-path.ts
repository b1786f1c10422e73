/** Creates the path of a stored response; undefined for an id that could lead to another path. */
export function createStreamPath(id: unknown): string | undefined {
  return typeof id === "string" && /^[\w-]{1,128}$/.test(id) ? `/v1/chat/streams/${id}` : undefined;
}
