/** @throws {Error} unless the condition holds */
export function ensure(holds: boolean, problem: string): void {
  if (!holds) throw new Error(problem);
}

/** @throws {Error} if both differ as JSON, or as bytes */
export function ensureSame(found: unknown, expected: unknown, what = "result"): void {
  const [is, should] = [found, expected].map((value) =>
    value instanceof Uint8Array ? describeBytes(value) : JSON.stringify(value)?.slice(0, 1_000),
  );
  ensure(is === should, `${what}: expected ${should}, and got ${is}`);
}

function describeBytes(bytes: Uint8Array): string {
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
