/** Shortest key that is looked for: a shorter word may well be part of an honest answer. */
const SHORTEST_KEY = 8;

/** Returns true for a text with a whole key in it, as it is written or in the escapes of JSON. */
export function containsKey(text: string, keys: readonly string[]): boolean {
  return keys.some(
    (key) => key.length >= SHORTEST_KEY && (text.includes(key) || unescapeJSON(text).includes(key)),
  );
}

/** Decodes the escapes of JSON, in a text that need not be JSON. */
export function unescapeJSON(text: string): string {
  if (!text.includes("\\")) return text;
  const plain = (_: string, hex: string, sign?: string) => sign ?? String.fromCharCode(Number(`0x${hex}`));
  return text.replace(/\\(?:u([\da-f]{4})|(.))/gi, plain);
}

const PASSED = {
  "x-request-id": /^[\w.:-]{1,128}$/,
  "retry-after": /^(?:\d{1,6}|[A-Z][a-z]{2}, [\w :]{10,30})$/,
};

/** Returns the headers of an answer that may go on to the client, where they are well-formed and hold no key. */
export function selectHeaders({ headers }: Response, keys: readonly string[]): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const [name, shape] of Object.entries(PASSED)) {
    const value = headers.get(name);
    if (value !== null && shape.test(value) && !containsKey(value, keys)) passed[name] = value;
  }
  return passed;
}
