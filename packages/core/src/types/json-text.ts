/** Converts a value to JSON text; undefined for a value without a JSON form, and for too deep nesting. */
export function toJSONText(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
