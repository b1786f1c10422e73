/** Length of the shortest key that is searched: a shorter word can be part of any response. */
export const SHORTEST_KEY = 8;
/** Number of strings of JSON in each other that are decoded. */
const MAX_ESCAPES = 3;

/**
 * Returns true for a text that contains a key of 8 characters or more, plain or in up to three levels of JSON's
 * escapes.
 */
export function containsKey(text: string, keys: readonly string[]): boolean {
  const long = keys.filter((key) => key.length >= SHORTEST_KEY);
  // a response may quote JSON in a string of JSON
  for (let depth = 0, last = ""; depth <= MAX_ESCAPES && text !== last; depth += 1) {
    if (long.some((key) => text.includes(key))) return true;
    last = text;
    text = unescapeJSON(text);
  }
  return false;
}

/** Decodes the escapes of JSON, in a text that need not be JSON. */
export function unescapeJSON(text: string): string {
  if (!text.includes("\\")) return text;
  const plain = (_: string, hex: string, sign?: string) => sign ?? String.fromCharCode(Number(`0x${hex}`));
  return text.replace(/\\(?:u([\da-fA-F]{4})|(.))/g, plain);
}

const PASSED = {
  "x-request-id": /^[\w.:-]{1,128}$/,
  "retry-after": /^(?:\d{1,6}|[A-Z][a-z]{2}, [\w :]{10,30})$/,
};

/**
 * Returns the headers of a response that the client may get: `x-request-id` and `retry-after`. A header that is malformed
 * or contains a key is left out.
 */
export function selectHeaders({ headers }: Response, keys: readonly string[]): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, shape] of Object.entries(PASSED)) {
    const value = headers.get(name);
    if (value !== null && shape.test(value) && !containsKey(value, keys)) passed[name] = value;
  }
  return passed;
}
