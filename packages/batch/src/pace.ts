import type { Client } from "@sluice/core";
import { createBackoff } from "@sluice/core/internal";

/** Number of pauses in a row without any progress, after which a run ends. */
const MOST_PAUSES = 12;
/** Longest first pause in milliseconds; each further one may be twice as long. */
const FIRST_PAUSE_MS = 1000;
/** Longest pause in milliseconds, also where `Retry-After` is longer: then one request tries. */
const LONGEST_PAUSE_MS = 600_000;

/** Number of requests that may be in flight, and the pauses between them. */
export interface Pace {
  /** The maximum of requests in flight now. */
  readonly concurrency: number;
  /** The pause; undefined while requests may be sent. `until`: Unix milliseconds. */
  readonly pause: { readonly until: number; readonly error: Error } | undefined;
  /** Returns the mark of a request that is sent now. */
  ticket(): number;
  /** Notes a response: the concurrency grows by one for each round of responses. */
  answered(): void;
  /** Halves the concurrency, once for all requests that were sent before. */
  slowDown(ticket: number): void;
  /**
   * Pauses after a request that was refused for now, or did not connect.
   *
   * @throws `error` after 12 pauses in a row without an answer; the reason of the signal
   */
  rest(error: Error, ticket: number): Promise<void>;
}

/**
 * Creates the pace of a run: additive increase, multiplicative decrease. `onChange` is called after each change.
 */
export function createPace(client: Client, max: number, signal: AbortSignal, onChange: () => void): Pace {
  const backoff = createBackoff(client, {
    limit: MOST_PAUSES,
    firstMs: FIRST_PAUSE_MS,
    longestMs: LONGEST_PAUSE_MS,
  });
  let concurrency = max;
  let round = 0;
  let pause: Pace["pause"];
  return {
    get concurrency() {
      return Math.floor(concurrency);
    },
    get pause() {
      return pause;
    },
    ticket: () => round,
    answered() {
      backoff.reset();
      concurrency = Math.min(max, concurrency + 1 / concurrency);
    },
    slowDown,
    async rest(error, ticket) {
      slowDown(ticket);
      if (pause) return;
      const onWait = ({ delayMs }: { readonly delayMs: number }) => {
        pause = { until: Date.now() + delayMs, error };
        onChange();
      };
      try {
        await backoff.wait(error, { signal, onWait });
      } finally {
        pause = undefined;
        onChange();
      }
    },
  };

  function slowDown(ticket: number): void {
    if (ticket !== round) return;
    round += 1;
    concurrency = Math.max(1, concurrency / 2);
    onChange();
  }
}
