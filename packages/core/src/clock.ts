/** Time, injected: tests and simulations bring their own. */
export interface Clock {
  /** Milliseconds, never going back; only differences mean anything. */
  now(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The longest delay a timer takes; beyond it, `setTimeout` fires at once. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** The platform's own clock. */
export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const timer = setTimeout(wake, Math.min(ms, LONGEST_TIMER_MS));
      signal?.addEventListener("abort", cancel, { once: true });
      function wake() {
        signal?.removeEventListener("abort", cancel);
        resolve();
      }
      function cancel() {
        clearTimeout(timer);
        reject(signal?.reason);
      }
    }),
};
