export function createRecords(object: Readonly<Record<string, unknown>>): Map<string, unknown> {
  return new Map(Object.entries(object));
}

/** @throws {Error} if both differ; the order of records is ignored */
export function assertSame(found: unknown, expected: unknown, what: string): void {
  if (!isSame(found, expected))
    throw new Error(`${what}: ${formatValue(found)}, and not ${formatValue(expected)}`);
}

/** Waits for a rejection and returns its error. @throws {Error} if the call throws or resolves */
export async function expectRejection(call: () => Promise<unknown>, what: string): Promise<unknown> {
  let called: Promise<unknown>;
  try {
    called = call();
  } catch (error) {
    throw new Error(`${what} threw, and has to reject: ${error}`);
  }
  return called.then(
    () => {
      throw new Error(`${what} resolved, and has to reject`);
    },
    (error: unknown) => error,
  );
}

export function isSame(a: unknown, b: unknown): boolean {
  return formatValue(a, Number.POSITIVE_INFINITY) === formatValue(b, Number.POSITIVE_INFINITY);
}

/** Formats a value as JSON with sorted fields, and with values that JSON would omit. */
export function formatValue(value: unknown, max = 300): string {
  const text = JSON.stringify(value, function (key, part: unknown) {
    const own: unknown = this[key];
    if (part instanceof Map) return { map: [...part].sort(([a], [b]) => (a < b ? -1 : 1)) };
    const hasJSON = ["string", "boolean", "object"].includes(typeof own) || Number.isFinite(own);
    if (!hasJSON || own instanceof Date) return [String(own)];
    if (part === null || typeof part !== "object" || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
  return text.length > max ? `${text.slice(0, max)}…` : text;
}
