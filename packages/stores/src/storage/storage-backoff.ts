import { type Backoff, createBackoff, toIdleClock } from "@sluice/core/internal";

/** Creates the waits between attempts at a storage that fails: from 1 s to 60 s, without an end. */
export function storageBackoff({ clock, random }: Parameters<typeof createBackoff>[0]): Backoff {
  // a script whose storage is broken ends all the same
  const waits = { clock: toIdleClock(clock), random };
  return createBackoff(waits, { limit: Number.POSITIVE_INFINITY, firstMs: 1000, longestMs: 60_000 });
}
