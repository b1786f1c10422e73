import type { Clock } from "@sluice/core";
import { rejectOnAbort } from "@sluice/core/extend";

/** Number of tasks that may start to poll at once. */
const AT_ONCE = 20;
/** Milliseconds between two polls if many tasks are watched: ten polls per second. */
const SPACING_MS = 100;

/** Rate limit of all polling in a page. A page with a thousand tasks stays responsive and does not flood the gateway. */
interface Pace {
  /** Number of polled tasks. */
  tasks: number;
  /** Resolves to the time of the last start, after all earlier starts. */
  starts: Promise<number>;
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
  const before = pace.starts;
  const turn = before.then(async (last) => {
    signal.throwIfAborted();
    const startAt = Math.max(last, clock.now() - AT_ONCE * SPACING_MS) + SPACING_MS;
    const waitMs = startAt - clock.now();
    if (waitMs > 0) await clock.sleep(waitMs, signal);
    return startAt;
  });
  // an aborted wait does not delay the other tasks, and releases its lock at once
  pace.starts = turn.catch(() => before);
  await rejectOnAbort(turn, signal);
  pace.tasks += 1;
  return () => {
    pace.tasks -= 1;
  };
}

/** Returns the interval of a task: `ms` milliseconds, or more if many tasks are polled. */
export function spaceInterval(clock: Clock, ms: number): number {
  const { tasks } = getPace(clock);
  return tasks > AT_ONCE ? Math.max(ms, tasks * SPACING_MS) : ms;
}

function getPace(clock: Clock): Pace {
  const pace = paces.get(clock) ?? { tasks: 0, starts: Promise.resolve(Number.NEGATIVE_INFINITY) };
  paces.set(clock, pace);
  return pace;
}
