import type { Clock } from "@sluice/core";

/** A clock that a history moves. */
export interface HistoryClock extends Clock {
  /** Lets time pass. `settle` runs after each sleeper. */
  advance(ms: number, settle: () => Promise<void>): Promise<void>;
}

/** Creates a clock that stands still until it is moved. */
export function createClock(): HistoryClock {
  let now = 0;
  const sleepers = new Set<{ readonly until: number; readonly wake: () => void }>();
  return {
    now: () => now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const sleeper = { until: now + ms, wake: resolve };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", () => {
          sleepers.delete(sleeper);
          reject(signal.reason);
        });
      }),
    async advance(ms, settle) {
      const end = now + ms;
      for (;;) {
        const [next] = [...sleepers]
          .filter(({ until }) => until <= end)
          .sort((one, other) => one.until - other.until);
        if (!next) break;
        now = Math.max(now, next.until);
        sleepers.delete(next);
        next.wake();
        await settle();
      }
      now = end;
    },
  };
}

/** Creates a generator of numbers from 0 to 1, by a seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
