import type { EmulatorClock } from "../clock.js";

/** How long an answer takes. */
export interface Pace {
  /** Waits before the delta of that number, counted from 0. */
  wait(clock: EmulatorClock, delta: number, signal: AbortSignal): Promise<void>;
  /** Waits as long as `deltas` deltas take. */
  waitForAll(clock: EmulatorClock, deltas: number, signal: AbortSignal): Promise<void>;
}

const FIRST_MS = 300;
const BETWEEN_MS = 15;
const SLOW_MS = 25;

/**
 * A brisk reading pace, divided by `speed`. `slow` (the scene) has a pace of its own, whatever the speed: who
 * asks for it wants time to do something in the middle.
 */
export function paceOf(speed: number, slow: boolean): Pace {
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
