import type { Step } from "./resumable-exchange.js";

/**
 * Reads an answer to its end, also while its loop is paused. Returns the function that gives the loop each step, in
 * order. The steps between are kept in memory.
 *
 * @param read reads the next step
 * @param pending the step that the loop waits for
 */
export function readAhead(
  read: () => Promise<Step> | Step,
  pending: Promise<Step> | Step | undefined,
): () => Promise<Step> {
  const kept: Step[] = [];
  let taken = 0;
  let isOver = false;
  /** Settles when another step is kept, or none is left. */
  let moved: Promise<unknown> = Promise.resolve(pending).catch(() => {});
  void keepAll();
  return next;

  async function keepAll(): Promise<void> {
    await moved;
    while (!isOver) {
      moved = keep();
      await moved;
    }
  }

  async function keep(): Promise<void> {
    try {
      const step = await read();
      if (step.done) isOver = true;
      else kept.push(step);
    } catch {
      // reading again gives the loop the same error
      isOver = true;
    }
  }

  async function next(): Promise<Step> {
    while (taken === kept.length && !isOver) await moved;
    if (taken === kept.length) return read();
    const step = kept[taken++] as Step;
    if (taken === kept.length) kept.length = taken = 0;
    return step;
  }
}
