import type { EmulatorClock } from "../base/clock.js";

/** Pace of a reply. */
export interface Pace {
  /** Waits before the delta with this index. */
  wait(clock: EmulatorClock, delta: number, signal: AbortSignal): Promise<void>;
  /** Waits for the duration of `deltas` deltas. */
  waitForAll(clock: EmulatorClock, deltas: number, signal: AbortSignal): Promise<void>;
}

const FIRST_MS = 300;
const BETWEEN_MS = 15;
const SLOW_MS = 25;

/**
 * Returns a brisk reading pace, divided by `speed`. The fault `slow` ignores the speed, so a test has time to act
 * during the stream.
 */
export function createPace(speed: number, slow: boolean): Pace {
  const between = slow ? SLOW_MS : BETWEEN_MS / speed;
  const first = FIRST_MS / speed + between;
  return {
    wait: (clock, delta, signal) => pause(clock, delta === 0 ? first : between, signal),
    waitForAll: (clock, deltas, signal) => pause(clock, first + between * deltas, signal),
  };
}

async function pause(clock: EmulatorClock, ms: number, signal: AbortSignal) {
  if (ms > 0) await clock.sleep(ms, signal);
}
