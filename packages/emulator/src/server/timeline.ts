/** Times of a task, in milliseconds since 1970. */
export interface Timeline {
  readonly submittedAt: number;
  readonly queuedAt: number;
  readonly startedAt: number;
  readonly finishedAt: number;
}

/** Phase of a task, and the completed share of its work, from 0 to 1. */
export interface Progress {
  readonly phase: "submitted" | "queued" | "running" | "finished";
  readonly share: number;
}

const QUEUED_MS = 1500;
const MIN_START_MS = 8000;
const START_SPREAD_MS = 7000;
const MIN_MS = 60_000;
const SPREAD_MS = 60_000;
const SLOW_MS = 300_000;

/**
 * Plans the times of a task: one to two minutes, including some seconds in the queue, divided by `speed`.
 *
 * @param digest hex digits that decide the exact times
 * @param usualMs total milliseconds of a task that is not slow, instead of those times
 */
export function planTimeline(
  now: number,
  digest: string,
  speed: number,
  slow: boolean,
  usualMs?: number,
): Timeline {
  const toTime = (ms: number) => now + ms / speed;
  if (usualMs !== undefined && !slow)
    return {
      submittedAt: now,
      queuedAt: toTime(usualMs * 0.02),
      startedAt: toTime(usualMs * 0.06),
      finishedAt: toTime(usualMs),
    };
  const spread = (part: string, max: number) => Number.parseInt(part, 16) % max;
  const started = MIN_START_MS + spread(digest.slice(0, 6), START_SPREAD_MS);
  const finished = slow ? SLOW_MS : MIN_MS + spread(digest.slice(6, 12), SPREAD_MS);
  return {
    submittedAt: now,
    queuedAt: toTime(QUEUED_MS),
    startedAt: toTime(started),
    finishedAt: toTime(finished),
  };
}

/** Computes the progress of a task at `now`. */
export function computeProgress({ queuedAt, startedAt, finishedAt }: Timeline, now: number): Progress {
  if (now >= finishedAt) return { phase: "finished", share: 1 };
  if (now >= startedAt) return { phase: "running", share: (now - startedAt) / (finishedAt - startedAt) };
  return { phase: now >= queuedAt ? "queued" : "submitted", share: 0 };
}
