import type { ClientOptions } from "@sluice/core";
import { onTestFinished } from "vitest";

type Clock = NonNullable<ClientOptions["clock"]>;

/** Longest wait that `speed` shortens. Limits of the client, such as the limit of a silent stream, are longer. */
const LONGEST_WAIT_MS = 5000;

/**
 * Creates a clock that ends with its test: waits that are open then, as of a page that the test has closed, never end.
 * Waits between two requests are divided by `speed`. Limits stay unchanged.
 */
export function createTestClock(speed = 1): Clock {
  const timers = new Set<NodeJS.Timeout>();
  let isOver = false;
  onTestFinished(() => {
    isOver = true;
    for (const timer of timers) clearTimeout(timer);
  });
  return {
    now: () => performance.now(),
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (isOver) return;
        const end = (settle: () => void) => {
          clearTimeout(timer);
          timers.delete(timer);
          signal?.removeEventListener("abort", abort);
          settle();
        };
        const abort = () => end(() => reject(signal?.reason));
        const waited = ms > LONGEST_WAIT_MS ? Math.min(ms, 2 ** 31 - 1) : ms / speed;
        const timer = setTimeout(() => end(resolve), waited);
        timers.add(timer);
        if (signal?.aborted) abort();
        else signal?.addEventListener("abort", abort);
      }),
  };
}
