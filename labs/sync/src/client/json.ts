/** Returns true for an object that is not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function isText(value: unknown): value is string {
  return typeof value === "string";
}

/** Returns true for values with the same JSON, whatever the order of their fields. */
export function isEqual(left: unknown, right: unknown): boolean {
  return left === right || normalize(left) === normalize(right);
}

/** Formats a value as JSON with sorted fields. */
function normalize(value: unknown): string | undefined {
  return JSON.stringify(value, (_, item: unknown) =>
    isObject(item) ? Object.fromEntries(Object.entries(item).sort(([a], [b]) => (a < b ? -1 : 1))) : item,
  );
}
