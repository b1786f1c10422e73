import type { EmulatorClock } from "../base/clock.js";

/** Pace of a reply. */
export interface Pace {
  /** Waits before the delta with this index. */
  wait(clock: EmulatorClock, delta: number, signal: AbortSignal): Promise<void>;
  /** Waits for the duration of `deltas` deltas. */
  waitForAll(clock: EmulatorClock, deltas: number, signal: AbortSignal): Promise<void>;
}

/** Time before the first delta, and between deltas: a brisk reading pace. */
const FIRST_MS = 300;
const BETWEEN_MS = 15;
/** Time between deltas with the fault `slow`. */
const SLOW_MS = 25;

/**
 * Creates the pace of a reply. `speed` divides its times, but not the time of the fault `slow`: a test needs time to
 * act during the stream.
 */
export function createPace(speed: number, slow: boolean): Pace {
  const between = slow ? SLOW_MS : BETWEEN_MS / speed;
  const first = FIRST_MS / speed + between;
  return {
    wait: (clock, delta, signal) => sleep(clock, delta === 0 ? first : between, signal),
    waitForAll: (clock, deltas, signal) => sleep(clock, first + between * deltas, signal),
  };
}

async function sleep(clock: EmulatorClock, ms: number, signal: AbortSignal) {
  if (ms > 0) await clock.sleep(ms, signal);
}
