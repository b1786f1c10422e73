import type { Client, ClientOptions, Clock } from "@sluice/core";
import { createTestClient, stoppedClock, waitUntil } from "./gateway.js";

/** Responds to one query. */
export type Step = (request: Request) => Response | Promise<Response>;

/** Limit for headers. Its length differs from every pause of a poll loop. */
const HEADERS_MS = 60_001;
/** Limit for the body of a refusal, which no test reaches. */
const REFUSAL_MS = 5000;

/**
 * Creates a client whose polls get the responses of `steps`, and then always the last one. The clock advances only while
 * the poll loop waits for its pause or a response, because runtimes need different numbers of turns for the other code.
 */
export function startPolling(
  steps: readonly Step[],
  deadlineMs: number,
  options: Partial<ClientOptions> = {},
): {
  readonly client: Client;
  /** Clock of the gateway. Its sleeps do not count as pauses of the loop. */
  readonly gateway: ReturnType<typeof stoppedClock>;
  /** The seconds at which queries came. */
  readonly polledAt: number[];
  /** Advances the clock by `ms`, or until the tracked promise settles. */
  advance(ms: number): Promise<void>;
  /** Sets the promise that ends `advance` when it settles. */
  track<T>(watching: Promise<T>): Promise<T>;
} {
  const gateway = stoppedClock();
  const polledAt: number[] = [];
  let pauses = 0;
  let endedPauses = 0;
  let isPending = false;
  let isOver = false;

  const clock: Clock = {
    now: gateway.now,
    async sleep(ms, signal) {
      // a time limit also waits 0 ms after its end
      const isPause = ![0, HEADERS_MS, REFUSAL_MS, deadlineMs].includes(ms);
      if (isPause) pauses += 1;
      await gateway.sleep(ms, signal);
      if (isPause) endedPauses += 1;
      else if (ms !== HEADERS_MS) isPending = false;
    },
  };
  const { client } = createTestClient(
    async (request, nth) => {
      polledAt.push(gateway.now() / 1000);
      isPending = true;
      try {
        return await (steps[Math.min(nth, steps.length) - 1] as Step)(request);
      } finally {
        isPending = false;
      }
    },
    {
      clock,
      random: () => 0.5,
      timeout: { firstChunkMs: HEADERS_MS, chunkMs: Number.POSITIVE_INFINITY },
      ...options,
    },
  );

  return {
    client,
    gateway,
    polledAt,
    track(watching) {
      const end = () => {
        isOver = true;
      };
      watching.then(end, end);
      return watching;
    },
    async advance(ms) {
      const until = gateway.now() + ms;
      while (gateway.now() < until) {
        await waitUntil(isResting);
        await gateway.advanceToNext(until);
      }
      await waitUntil(isResting);
    },
  };

  function isResting(): boolean {
    return isOver || isWaiting();
  }

  function isWaiting(): boolean {
    const isAsleep = polledAt.length === pauses && endedPauses < pauses;
    return isAsleep || (isPending && polledAt.length === pauses + 1);
  }
}
