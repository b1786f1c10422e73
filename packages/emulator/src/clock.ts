import { systemClock as platform } from "@sluice/core";

/**
 * Time, injected. It has the shape of the core's clock, except that here `now()` is wall-clock time:
 * the gateway stamps what it makes (`created`) with Unix seconds.
 */
export interface EmulatorClock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The platform's own clock. */
export const systemClock: EmulatorClock = { now: () => Date.now(), sleep: platform.sleep };

/** Silence: settles only by rejecting, with the signal's reason, once `signal` aborts. */
export function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
