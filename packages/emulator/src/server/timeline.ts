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

/** Times after the creation. The digest of a task decides its times within the spreads. */
const QUEUED_MS = 1500;
const MIN_START_MS = 8000;
const START_SPREAD_MS = 7000;
const MIN_FINISH_MS = 60_000;
const FINISH_SPREAD_MS = 60_000;
const SLOW_FINISH_MS = 300_000;
/** Shares of a given duration after which a task is queued and started. */
const QUEUED_SHARE = 0.02;
const START_SHARE = 0.06;

/**
 * Plans the times of a task that takes one to two minutes, with some seconds in the queue. `speed` divides all times.
 *
 * @param digest hex digits that decide the exact times
 * @param durationMs milliseconds of a task that is not slow, instead of one to two minutes
 */
export function planTimeline(
  now: number,
  digest: string,
  speed: number,
  slow: boolean,
  durationMs?: number,
): Timeline {
  const toTime = (ms: number) => now + ms / speed;
  if (durationMs !== undefined && !slow)
    return {
      submittedAt: now,
      queuedAt: toTime(durationMs * QUEUED_SHARE),
      startedAt: toTime(durationMs * START_SHARE),
      finishedAt: toTime(durationMs),
    };
  const spread = (digits: string, max: number) => Number.parseInt(digits, 16) % max;
  const started = MIN_START_MS + spread(digest.slice(0, 6), START_SPREAD_MS);
  const finished = slow ? SLOW_FINISH_MS : MIN_FINISH_MS + spread(digest.slice(6, 12), FINISH_SPREAD_MS);
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
