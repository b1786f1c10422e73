import { rejectOnAbort } from "./reject-on-abort.js";

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

/**
 * Like {@link limitTime}, for work that may ignore its signal: also rejects when `ms` have passed or `parent` aborts.
 * The work may then continue in the background.
 */
export async function abandonAfter<T>(
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
  parent?: AbortSignal,
): Promise<T> {
  return await limitTime(ms, (timeout) => {
    const signal = parent ? AbortSignal.any([timeout, parent]) : timeout;
    return Promise.race([work(signal), rejectOnAbort(signal)]);
  });
}
