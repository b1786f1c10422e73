import type { Clock } from "@sluice/core";
import type { Part } from "./write-attempt.js";

/** Number of open writes from which on there are pauses: a storage that is only slow gets what is new at once. */
const MOST_AT_ONCE = 6;
/** First pause after a write that was not answered in time, in milliseconds. Each further one is twice as long. */
const FIRST_PAUSE_MS = 1000;

/**
 * Writes that a storage has not answered. One that hangs does them all when it works again, one after the other: what it is
 * asked for meanwhile only delays what comes last.
 */
export interface OpenWrites {
  /** Adds a write, until it is answered in whatever way. A storage answers in order, or has lost what was before. */
  readonly add: (part: Part, answer: Promise<unknown>) => void;
  readonly areAnswered: () => boolean;
  /** Begins the next pause after a write that was late, unless few are open. */
  readonly pause: () => void;
  /** Returns true while the storage is to be asked for nothing more. */
  readonly isPaused: () => boolean;
}

/** Creates an empty set. */
export function createOpenWrites(clock: Clock): OpenWrites {
  /** In the order of their begin. */
  const open = new Set<Part>();
  let pauseMs = 0;
  let pausedUntil = 0;
  return {
    add(part, answer) {
      open.add(part);
      const note = () => answered(part);
      answer.then(note, note);
    },
    areAnswered: () => open.size === 0,
    pause() {
      if (open.size < MOST_AT_ONCE) return;
      pauseMs = Math.max(FIRST_PAUSE_MS, 2 * pauseMs);
      pausedUntil = clock.now() + pauseMs;
    },
    isPaused: () => clock.now() < pausedUntil,
  };

  function answered(part: Part): void {
    if (!open.has(part)) return;
    for (const each of open) {
      open.delete(each);
      if (each === part) break;
    }
    if (open.size > 0) return;
    pauseMs = 0;
    pausedUntil = 0;
  }
}
