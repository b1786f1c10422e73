import { systemClock as platform } from "@sluice/core/extend";

/**
 * Source of time. It has the shape of the core's clock, but `now()` is wall-clock time: responses contain Unix seconds
 * (`created`).
 */
export interface EmulatorClock {
  /** Milliseconds since 1970. */
  now(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason as soon as `signal` aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** The platform's own clock. */
export const systemClock: EmulatorClock = { now: () => Date.now(), sleep: platform.sleep };

/** Never resolves; rejects with the signal's reason when `signal` aborts. */
export function waitForAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) return reject(signal.reason);
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
