import type { Clock } from "@sluice/core";
import type { WriteBatch } from "./write-attempt.js";

/** Minimum number of open writes before a late write causes a pause. A storage that is only slow gets new changes at once. */
const MAX_OPEN = 6;
/** First pause after a late write, in milliseconds. Each further pause is twice as long. */
const FIRST_PAUSE_MS = 1000;

/**
 * Writes that have not ended. When a stalled storage recovers, it runs every open write in order, so that more writes now
 * would only delay the latest one.
 */
export interface OpenWrites {
  /** Adds a write until it ends. Its end also ends all earlier writes: a storage works in order, or has lost them. */
  readonly add: (batch: WriteBatch, write: Promise<unknown>) => void;
  readonly areDone: () => boolean;
  /** Begins the next pause after a late write, unless few writes are open. */
  readonly pause: () => void;
  /** Returns true while the storage should get no more writes. */
  readonly isPaused: () => boolean;
}

/** Creates an empty set. */
export function createOpenWrites(clock: Clock): OpenWrites {
  /** Open writes in the order of their start. */
  const open = new Set<WriteBatch>();
  let pauseMs = 0;
  let pausedUntil = 0;
  return {
    add(batch, write) {
      open.add(batch);
      const end = () => noteEnd(batch);
      write.then(end, end);
    },
    areDone: () => open.size === 0,
    pause() {
      if (open.size < MAX_OPEN) return;
      pauseMs = Math.max(FIRST_PAUSE_MS, 2 * pauseMs);
      pausedUntil = clock.now() + pauseMs;
    },
    isPaused: () => clock.now() < pausedUntil,
  };

  function noteEnd(batch: WriteBatch): void {
    if (!open.has(batch)) return;
    for (const each of open) {
      open.delete(each);
      if (each === batch) break;
    }
    if (open.size > 0) return;
    pauseMs = 0;
    pausedUntil = 0;
  }
}
