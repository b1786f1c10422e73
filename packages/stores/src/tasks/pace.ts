import type { Clock } from "@sluice/core";
import { rejectOnAbort } from "@sluice/core/internal";

/** Number of tasks whose polling may start at once. */
const AT_ONCE = 20;
/** Milliseconds between two polls where many tasks are watched: ten polls in a second. */
const SPACING_MS = 100;

/** The pace of all polling in a page. A page with a thousand tasks stays responsive, and does not flood the gateway. */
interface Pace {
  /** Number of tasks that are polled. */
  tasks: number;
  /** Resolves to the time of the last start, when all starts before have had their turn. */
  starts: Promise<number>;
}

/** By clock: a page has one. */
const paces = new WeakMap<Clock, Pace>();

/**
 * Waits for the turn of a task whose polling starts: none for the first 20, then ten in a second. Returns a function to
 * call when its polling has ended.
 *
 * @throws the signal's reason
 */
export async function startInTurn(clock: Clock, signal: AbortSignal): Promise<() => void> {
  const pace = paceOf(clock);
  const before = pace.starts;
  const turn = before.then(async (last) => {
    signal.throwIfAborted();
    const startAt = Math.max(last, clock.now() - AT_ONCE * SPACING_MS) + SPACING_MS;
    const waitMs = startAt - clock.now();
    if (waitMs > 0) await clock.sleep(waitMs, signal);
    return startAt;
  });
  // a task that is left while it waits takes no time of the others, and releases its lock at once
  pace.starts = turn.catch(() => before);
  await rejectOnAbort(turn, signal);
  pace.tasks += 1;
  return () => {
    pace.tasks -= 1;
  };
}

/** Returns the interval of a task: `ms` milliseconds, or more where many tasks are polled. */
export function spaced(clock: Clock, ms: number): number {
  const { tasks } = paceOf(clock);
  return tasks > AT_ONCE ? Math.max(ms, tasks * SPACING_MS) : ms;
}

function paceOf(clock: Clock): Pace {
  const pace = paces.get(clock) ?? { tasks: 0, starts: Promise.resolve(Number.NEGATIVE_INFINITY) };
  paces.set(clock, pace);
  return pace;
}
