import type { Clock } from "../base/clock.js";

/** Answer to one poll of a task. */
export interface Polled<Task> {
  readonly task: Task;
  /** Connects, and yields the task after each change; undefined where nothing pushes changes. Throws only when aborted. */
  readonly pushed?: (() => AsyncIterable<Task>) | undefined;
}

/** Time in milliseconds for which a task is polled after pushed changes have ended. */
const PUSHED_AGAIN_MS = 60_000;

/**
 * Yields a task after each answer and each pushed change. Yields the same object if nothing has changed.
 *
 * Policy: pushed changes take the place of polls for as long as they come. They are requested after an answer with
 * something new, because a subscriber shows `fetching` until then. After they have ended, the task is polled for a minute.
 */
export async function* mergePushed<Task>(
  clock: Clock,
  polls: AsyncIterable<Polled<Task>>,
  merge: (last: Task | undefined, next: Task) => Task,
): AsyncGenerator<Task, void> {
  let last: Task | undefined;
  let pushedAgainAt = clock.now();
  for await (const { task, pushed } of polls) {
    const before = last;
    last = merge(last, task);
    yield last;
    if (!pushed || last === before || clock.now() < pushedAgainAt) continue;
    for await (const change of pushed()) {
      last = merge(last, change);
      yield last;
    }
    pushedAgainAt = clock.now() + PUSHED_AGAIN_MS;
  }
}
