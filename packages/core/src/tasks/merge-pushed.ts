import type { Clock } from "../base/clock.js";

/** Result of one poll of a task. */
export interface Polled<Task> {
  /** Latest state of the task. */
  readonly task: Task;
  /**
   * Connects to the proxy and yields the task after each change. Undefined without a proxy that pushes changes. Throws
   * only when aborted.
   */
  readonly pushed?: (() => AsyncIterable<Task>) | undefined;
}

/** Time in milliseconds to poll a task after its pushed changes have ended. */
const PUSHED_AGAIN_MS = 60_000;

/**
 * Yields a task after each poll and each pushed change. Yields the same object if nothing has changed.
 *
 * Policy: pushed changes replace polls while they arrive. The stream of changes opens only after a poll with a new
 * snapshot, because a subscriber shows `fetching` before it. After the stream has ended, the task is polled for a
 * minute.
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
