/** Times of a task, in milliseconds since 1970. */
export interface Timeline {
  readonly submittedAt: number;
  readonly queuedAt: number;
  readonly startedAt: number;
  readonly finishedAt: number;
}

/** Phase of a task, and the share of its work that is done, from 0 to 1. */
export interface Progress {
  readonly phase: "submitted" | "queued" | "running" | "finished";
  readonly share: number;
}

const QUEUED_MS = 1500;
const LEAST_START_MS = 8000;
const START_SPREAD_MS = 7000;
const LEAST_MS = 60_000;
const SPREAD_MS = 60_000;
const SLOW_MS = 300_000;

/**
 * Plans the times of a task: one to two minutes, of which some seconds in the queue, divided by `speed`.
 *
 * @param digest hex digits that decide the exact times
 */
export function planTask(now: number, digest: string, speed: number, slow: boolean): Timeline {
  const spread = (part: string, most: number) => Number.parseInt(part, 16) % most;
  const started = LEAST_START_MS + spread(digest.slice(0, 6), START_SPREAD_MS);
  const finished = slow ? SLOW_MS : LEAST_MS + spread(digest.slice(6, 12), SPREAD_MS);
  return {
    submittedAt: now,
    queuedAt: now + QUEUED_MS / speed,
    startedAt: now + started / speed,
    finishedAt: now + finished / speed,
  };
}

/** Computes the progress of a task at `now`. */
export function progressAt({ queuedAt, startedAt, finishedAt }: Timeline, now: number): Progress {
  if (now >= finishedAt) return { phase: "finished", share: 1 };
  if (now >= startedAt) return { phase: "running", share: (now - startedAt) / (finishedAt - startedAt) };
  return { phase: now >= queuedAt ? "queued" : "submitted", share: 0 };
}
