import { rejectOnAbort } from "./reject-on-abort.js";

type Work<T> = (signal: AbortSignal) => Promise<T>;

/**
 * Runs `work` with a signal that aborts after `ms` milliseconds. The timer ends with the work. A timer of
 * `AbortSignal.timeout` does not.
 */
export async function limitTime<T>(ms: number, work: Work<T>): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(
    () => controller.abort(new DOMException(`no response in ${ms} ms`, "TimeoutError")),
    ms,
  );
  return await work(controller.signal).finally(() => clearTimeout(timer));
}

/** Like {@link limitTime}, but also rejects if `work` ignores its signal. Ends when `parent` aborts, too. */
export function abandonAfter<T>(ms: number, work: Work<T>, parent?: AbortSignal): Promise<T> {
  return limitTime(ms, (timeout) => {
    const signal = parent ? AbortSignal.any([timeout, parent]) : timeout;
    return Promise.race([work(signal), rejectOnAbort(signal)]);
  });
}
