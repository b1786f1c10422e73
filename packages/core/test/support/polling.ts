import type { Client, ClientOptions, Clock } from "@sluice/core";
import { createTestClient, stoppedClock, waitUntil } from "./gateway.js";

/** Answers one query. */
export type Step = (request: Request) => Response | Promise<Response>;

/** Told apart from every pause of a poll loop by its length. */
const HEADERS_MS = 60_001;
/** The limit for a refusal's body, which no test reaches. */
const REFUSAL_MS = 5000;

/**
 * Creates a client whose queries get `steps` as responses; all queries after that get the last step. Its clock advances
 * only while the loop waits for its pause or for a response, because runtimes differ in the turns that other work takes.
 */
export function startPolling(
  steps: readonly Step[],
  deadlineMs: number,
  options: Partial<ClientOptions> = {},
): {
  readonly client: Client;
  /** The gateway's own clock: sleeping by it is no pause of the loop. */
  readonly gateway: ReturnType<typeof stoppedClock>;
  /** The seconds at which queries came. */
  readonly polledAt: number[];
  /** Lets time pass until `ms` later, or until `watching` is over. */
  advance(ms: number): Promise<void>;
  /** Notes the promise that ends `advance` when it settles. */
  track<T>(watching: Promise<T>): Promise<T>;
} {
  const gateway = stoppedClock();
  const polledAt: number[] = [];
  let pauses = 0;
  let woken = 0;
  let isPending = false;
  let isOver = false;

  const clock: Clock = {
    now: gateway.now,
    async sleep(ms, signal) {
      // a limit counts one task after its end: a wait of 0
      const isPause = ![0, HEADERS_MS, REFUSAL_MS, deadlineMs].includes(ms);
      if (isPause) pauses += 1;
      await gateway.sleep(ms, signal);
      if (isPause) woken += 1;
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
    const isAsleep = polledAt.length === pauses && woken < pauses;
    return isAsleep || (isPending && polledAt.length === pauses + 1);
  }
}
