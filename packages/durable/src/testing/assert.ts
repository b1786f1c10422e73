/** @throws {Error} unless the condition holds */
export function ensure(holds: boolean, problem: string): void {
  if (!holds) throw new Error(problem);
}

/** @throws {Error} if both differ as JSON, or as bytes */
export function ensureSame(found: unknown, expected: unknown, what = "result"): void {
  const [foundText, expectedText] = [found, expected].map((value) =>
    value instanceof Uint8Array ? hashBytes(value) : JSON.stringify(value)?.slice(0, 1_000),
  );
  ensure(foundText === expectedText, `${what}: expected ${expectedText}, and got ${foundText}`);
}

function hashBytes(bytes: Uint8Array): string {
  // FNV-1a: enough to notice a lost or changed byte
  const hash = bytes.reduce((sum, byte) => Math.imul(sum ^ byte, 16_777_619), 2_166_136_261);
  return `${bytes.byteLength} bytes ${hash >>> 0}`;
}

/** Returns the name of the error that work fails with; undefined if it succeeds. */
export function catchError(work: Promise<unknown>): Promise<string | undefined> {
  return work.then(
    () => undefined,
    (error: Error) => error.name,
  );
}
