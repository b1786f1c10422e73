/** Clock of all waits. Tests and simulations replace it. */
export interface Clock {
  /** Milliseconds since an arbitrary moment. The value never decreases. Only differences are meaningful. */
  now(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Longest delay that `setTimeout` supports. A longer one fires at once. */
const LONGEST_TIMER_MS = 2_147_483_647;

/**
 * The platform's clock.
 *
 * @example
 * ```ts
 * const startedAt = systemClock.now();
 * ```
 */
export const systemClock: Clock = { now: () => performance.now(), sleep: createSleep(true) };

/** The platform's clock, for waits that do not keep the process alive. */
const idleClock: Clock = { now: systemClock.now, sleep: createSleep(false) };

/**
 * Returns a clock whose waits do not keep the process alive, as Node's timers do. Returns a test clock unchanged.
 *
 * @example
 * ```ts
 * const clock = toIdleClock(client.clock);
 * await clock.sleep(60_000, signal);
 * ```
 */
export function toIdleClock(clock: Clock): Clock {
  return clock === systemClock ? idleClock : clock;
}

let lastDate = 0;
let lastTime = 0;

/**
 * Reads a clock once for each millisecond of the date, for code that runs for each piece of a stream. Browsers take ten
 * times as long for `performance.now()` as for `Date.now()`. The date may jump, so it is not used as the time.
 */
export function readCoarseTime(clock: Clock): number {
  if (clock.now !== systemClock.now) return clock.now();
  const date = Date.now();
  if (date !== lastDate) {
    lastDate = date;
    lastTime = clock.now();
  }
  return lastTime;
}

function createSleep(keepsAlive: boolean): Clock["sleep"] {
  return (ms, signal) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => {
          removeListener();
          resolve();
        },
        Math.min(ms, LONGEST_TIMER_MS),
      );
      if (!keepsAlive) (timer as { readonly unref?: () => void }).unref?.();
      const removeListener = addAbortListener(signal, () => {
        clearTimeout(timer);
        reject(signal?.reason);
      });
    });
}

/**
 * Calls `act` when `signal` aborts, or at once if it is aborted. Returns a function that removes the listener. The
 * option `signal` of `addEventListener` is not enough in Node, where the listener may live as long as its target.
 */
export function addAbortListener(signal: AbortSignal | undefined, act: () => void): () => void {
  if (signal?.aborted) act();
  signal?.addEventListener("abort", act);
  return () => signal?.removeEventListener("abort", act);
}

/**
 * Calls `act` after `ms` milliseconds, unless `cancelled` aborts first. Never calls it if `ms` is infinite.
 *
 * @example
 * ```ts
 * const waiting = new AbortController();
 * callAfter(client.clock, 60_000, waiting.signal, () => show("a minute has passed"));
 * ```
 */
export function callAfter(clock: Clock, ms: number, cancelled: AbortSignal, act: () => void): void {
  if (ms !== Number.POSITIVE_INFINITY) clock.sleep(ms, cancelled).then(act, () => {});
}

/**
 * Calls `act` after `ms` milliseconds and one more task. When a frozen page resumes, its timer and the response are
 * due together, and the response must win.
 */
export function callAtLimit(clock: Clock, ms: number, cancelled: AbortSignal, act: () => void): void {
  callAfter(clock, ms, cancelled, () => callAfter(clock, 0, cancelled, act));
}

/** Work in flight. Its signal aborts with the caller's signal, after a time limit, or through `abort`. */
export interface Span {
  /** Aborts with the caller's signal, after the time limit, or through `abort`. */
  readonly signal: AbortSignal;
  /** Aborts the work. */
  readonly abort: (reason: unknown) => void;
  /** Ends the span: stops its timer and its listener on the caller's signal. */
  readonly end: () => void;
}

/**
 * Opens a span of at most `ms` milliseconds. `createReason` returns the abort reason for the time limit.
 *
 * @example
 * ```ts
 * const createReason = () => new DOMException("no response within 10 s", "TimeoutError");
 * const span = openSpan(client.clock, signal, 10_000, createReason);
 * try {
 *   await fetch("/tool", { signal: span.signal });
 * } finally {
 *   span.end();
 * }
 * ```
 */
export function openSpan(
  clock: Clock,
  caller: AbortSignal | undefined,
  ms: number,
  createReason: () => unknown,
): Span {
  const controller = new AbortController();
  const ended = new AbortController();
  // a caller's signal may outlive thousands of spans, so each span removes its listener
  const removeListener = addAbortListener(caller, () => controller.abort(caller?.reason));
  callAfter(clock, ms, ended.signal, () => controller.abort(createReason()));
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    end() {
      removeListener();
      // without `null`, the platform creates an error with a stack: a tenth of a short call's time
      ended.abort(null);
    },
  };
}

/**
 * Awaits `promise`. Rejects with the signal's reason when the signal aborts, even if the work ignores the signal.
 *
 * @example
 * ```ts
 * const records = await rejectOnAbort(storage.read("notes"), signal);
 * ```
 */
export function rejectOnAbort<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const removeListener = addAbortListener(signal, () => reject(signal?.reason));
    promise.then(resolve, reject).then(removeListener);
  });
}

/**
 * Waits for `promise` for at most `ms` milliseconds. After that, the work continues and its result is ignored.
 *
 * @param what subject of the error's message
 * @throws a `DOMException` named `TimeoutError`; the error of `promise`
 * @example
 * ```ts
 * const records = await awaitWithin(client.clock, 3000, storage.read("notes"), "the storage");
 * ```
 */
export async function awaitWithin<T>(
  clock: Clock,
  ms: number,
  promise: Promise<T>,
  what: string,
): Promise<T> {
  const createReason = () => new DOMException(`${what} did not respond within ${ms} ms`, "TimeoutError");
  const { signal, end } = openSpan(clock, undefined, ms, createReason);
  return rejectOnAbort(promise, signal).finally(end);
}
