/**
 * Returns the value of a promise, or undefined if it takes longer than `ms` milliseconds.
 *
 * @example
 * ```ts
 * const response = await waitAtMost(500, fetch("https://flags.example.com"));
 * ```
 */
export async function waitAtMost<T>(ms: number, promise: Promise<T>): Promise<T | undefined> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, ms, undefined);
  });
  return await Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
