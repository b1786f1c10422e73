/**
 * Runs `work` with a signal that aborts after `ms` milliseconds. The timer ends with the work. A timer of
 * `AbortSignal.timeout` does not.
 */
export async function limitTime<T>(ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(
    () => controller.abort(new DOMException(`no response in ${ms} ms`, "TimeoutError")),
    ms,
  );
  return await work(controller.signal).finally(() => clearTimeout(timer));
}
