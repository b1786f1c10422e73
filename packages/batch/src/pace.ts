import type { Client } from "@sluice/core";
import { createBackoff } from "@sluice/core/extend";

/** Number of pauses in a row without progress after which a run ends. */
const MAX_PAUSES = 12;
/** Longest first pause in milliseconds. Each further pause may be twice as long. */
const FIRST_PAUSE_MS = 1000;
/** Longest pause in milliseconds. If `Retry-After` is longer, one request tries earlier. */
const MAX_PAUSE_MS = 600_000;

/** The allowed number of requests in flight, and the pauses between them. */
export interface Pace {
  /** Current limit of requests in flight. */
  readonly concurrency: number;
  /** The current pause; undefined while requests may be sent. `until`: Unix milliseconds. */
  readonly pause: { readonly until: number; readonly error: Error } | undefined;
  /** Number of the current round. A round ends when the concurrency is halved. */
  readonly round: number;
  /** Raises the concurrency after a response, by one per round of responses. */
  speedUp(): void;
  /** Halves the concurrency, once for all requests of the same round. */
  slowDown(round: number): void;
  /**
   * Pauses after a request that was rejected for now or did not connect.
   *
   * @throws `error` after 12 pauses in a row without a response; the signal's reason
   */
  wait(error: Error, round: number): Promise<void>;
}

/** Creates the pace of a run: additive increase, multiplicative decrease. `onChange` runs after each change. */
export function createPace(client: Client, max: number, signal: AbortSignal, onChange: () => void): Pace {
  const backoff = createBackoff(client, {
    limit: MAX_PAUSES,
    firstMs: FIRST_PAUSE_MS,
    longestMs: MAX_PAUSE_MS,
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
    get round() {
      return round;
    },
    speedUp() {
      backoff.reset();
      concurrency = Math.min(max, concurrency + 1 / concurrency);
    },
    slowDown,
    async wait(error, sentRound) {
      slowDown(sentRound);
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

  function slowDown(sentRound: number): void {
    if (sentRound !== round) return;
    round += 1;
    concurrency = Math.max(1, concurrency / 2);
    onChange();
  }
}
