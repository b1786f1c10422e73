import type { Clock } from "@sluice/core";
import { rejectOnAbort } from "@sluice/core/extend";

/** Number of tasks that may start to poll at once. */
const AT_ONCE = 20;
/** Milliseconds between two polls if many tasks are watched: ten polls per second. */
const SPACING_MS = 100;

/** Rate limit of all polling in a page. A page with a thousand tasks stays responsive and does not flood the gateway. */
interface Pace {
  taskCount: number;
  /** Resolves to the time of the last start, after all earlier starts. */
  lastStart: Promise<number>;
}

/** The pace by clock, because a page has one clock. */
const paces = new WeakMap<Clock, Pace>();

/**
 * Waits until a task may start to poll: the first 20 at once, then ten per second. Returns a function to call when its
 * polling has ended.
 *
 * @throws the signal's reason
 */
export async function startInTurn(clock: Clock, signal: AbortSignal): Promise<() => void> {
  const pace = getPace(clock);
  const previousStart = pace.lastStart;
  const start = previousStart.then(async (last) => {
    signal.throwIfAborted();
    // after a pause of two seconds, 20 tasks may start at once again
    const startAt = Math.max(last, clock.now() - AT_ONCE * SPACING_MS) + SPACING_MS;
    const waitMs = startAt - clock.now();
    if (waitMs > 0) await clock.sleep(waitMs, signal);
    return startAt;
  });
  // an aborted wait does not delay the other tasks, and releases its lock at once
  pace.lastStart = start.catch(() => previousStart);
  await rejectOnAbort(start, signal);
  pace.taskCount += 1;
  return () => {
    pace.taskCount -= 1;
  };
}

/** Returns the interval of a task: `ms` milliseconds, or more if many tasks are polled. */
export function spaceInterval(clock: Clock, ms: number): number {
  const { taskCount } = getPace(clock);
  return taskCount > AT_ONCE ? Math.max(ms, taskCount * SPACING_MS) : ms;
}

function getPace(clock: Clock): Pace {
  const pace = paces.get(clock) ?? { taskCount: 0, lastStart: Promise.resolve(Number.NEGATIVE_INFINITY) };
  paces.set(clock, pace);
  return pace;
}
