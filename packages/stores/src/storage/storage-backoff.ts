import { createBackoff, toIdleClock } from "@sluice/core/extend";

/** Waits between attempts, up to a limit. */
export type Backoff = ReturnType<typeof createBackoff>;

/** Creates the waits between attempts at a failing storage: from 1 s to 60 s, without a limit. */
export function createStorageBackoff({ clock, random }: Parameters<typeof createBackoff>[0]): Backoff {
  // an idle clock lets a script with a broken storage exit
  const waits = { clock: toIdleClock(clock), random };
  return createBackoff(waits, { limit: Number.POSITIVE_INFINITY, firstMs: 1000, longestMs: 60_000 });
}
