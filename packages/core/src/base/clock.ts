/** Clock of all waits. Tests and simulations bring their own. */
export interface Clock {
  /** Milliseconds since some moment. The number never goes back; only differences mean anything. */
  now(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Longest delay that `setTimeout` takes. With a longer one it fires at once. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** The platform's own clock. */
export const systemClock: Clock = { now: () => performance.now(), sleep: createSleep(true) };

/** The platform's own clock, for waits that keep no process alive. */
const idleClock: Clock = { now: systemClock.now, sleep: createSleep(false) };

/** Returns the clock of waits that keep no process alive. Only Node's timers do; a clock of a test stays as it is. */
export function toIdleClock(clock: Clock): Clock {
  return clock === systemClock ? idleClock : clock;
}

function createSleep(keepsAlive: boolean): Clock["sleep"] {
  return (ms, signal) =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => {
          ignoreAbort();
          resolve();
        },
        Math.min(ms, LONGEST_TIMER_MS),
      );
      if (!keepsAlive) (timer as { readonly unref?: () => void }).unref?.();
      const ignoreAbort = addAbortListener(signal, () => {
        clearTimeout(timer);
        reject(signal?.reason);
      });
    });
}

/**
 * Calls `act` when `signal` aborts, or at once if it has. Returns a function that removes the listener. The option
 * `signal` of `addEventListener` does not do it in Node: there the listener may stay as long as its target.
 */
export function addAbortListener(signal: AbortSignal | undefined, act: () => void): () => void {
  if (signal?.aborted) act();
  signal?.addEventListener("abort", act);
  return () => signal?.removeEventListener("abort", act);
}

/** Calls `act` after `ms` milliseconds, unless `cancelled` aborts first. Never calls it if `ms` is infinite. */
export function callAfter(clock: Clock, ms: number, cancelled: AbortSignal, act: () => void): void {
  if (ms !== Number.POSITIVE_INFINITY) clock.sleep(ms, cancelled).then(act, () => {});
}

/**
 * Calls `late` at the end of a limit, as `after` does, but one task later: a page that was frozen finds its timer and the
 * answer together when it goes on, and the answer counts.
 */
export function callAtLimit(clock: Clock, ms: number, cancelled: AbortSignal, late: () => void): void {
  callAfter(clock, ms, cancelled, () => callAfter(clock, 0, cancelled, late));
}

/** A piece of work in flight. Its signal aborts with the caller's signal, after a time limit, or by `abort`. */
export interface Span {
  readonly signal: AbortSignal;
  readonly abort: (reason: unknown) => void;
  /** Ends the span: stops its timer and its listener on the caller's signal. */
  readonly end: () => void;
}

/** Opens a span of at most `ms` milliseconds. `late` returns the abort reason for the time limit. */
export function openSpan(
  clock: Clock,
  caller: AbortSignal | undefined,
  ms: number,
  late: () => unknown,
): Span {
  const controller = new AbortController();
  const ended = new AbortController();
  // a caller's signal may live longer than thousands of spans: each span removes its listener
  const ignoreCaller = addAbortListener(caller, () => controller.abort(caller?.reason));
  callAfter(clock, ms, ended.signal, () => controller.abort(late()));
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    // `null` as everywhere where nothing reads the reason: without one, the platform makes an error with a stack, which
    // took a tenth of a short call's time
    end() {
      ignoreCaller();
      ended.abort(null);
    },
  };
}

/**
 * Awaits `promise`. Rejects with the signal's reason when the signal aborts, even if the work behind `promise` ignores
 * it.
 */
export function rejectOnAbort<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    const ignoreAbort = addAbortListener(signal, () => reject(signal?.reason));
    promise.then(resolve, reject).then(ignoreAbort);
  });
}

/**
 * Waits for `promise` for at most `ms` milliseconds. The work behind it continues, and its later result is ignored.
 *
 * @throws a `DOMException` named `TimeoutError` that begins with `what`; what `promise` rejects with
 */
export async function awaitWithin<T>(
  clock: Clock,
  ms: number,
  promise: Promise<T>,
  what: string,
): Promise<T> {
  const late = () => new DOMException(`${what} did not answer within ${ms} ms`, "TimeoutError");
  const { signal, end } = openSpan(clock, undefined, ms, late);
  return rejectOnAbort(promise, signal).finally(end);
}

/**
 * Lets the browser handle input and render, then continues as soon as possible. `setTimeout(0)` is slower: browsers
 * make nested timers wait 4 ms, in a hidden page one second. `scheduler.yield` continues before timers and rendering,
 * so that no frame is painted while there are bytes to read.
 */
export function yieldToHost(): Promise<void> {
  return new Promise((resolve) => {
    // React Native has none
    if (!globalThis.MessageChannel) return void setTimeout(resolve);
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
