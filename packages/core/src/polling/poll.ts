import { type Clock, openSpan } from "../base/clock.js";
import { isolate } from "../base/isolate.js";
import { isGatewayError, TimeoutError } from "../errors.js";
import { isClosedRoute } from "../transport/failure.js";

/** Step of a poll loop: `ask` for a poll, `rest` for the wait until the next one. */
export type PollEvent =
  | {
      /** A poll is sent. */
      readonly type: "ask";
    }
  | {
      /** The loop waits until the next poll. */
      readonly type: "rest";
      /** Length of the wait in milliseconds. */
      readonly ms: number;
      /** Error of the poll before, if it failed. */
      readonly failure: Error | undefined;
    };

/** Plan of a poll loop. Times are milliseconds. */
export interface PollPlan<Snapshot> {
  readonly clock: Clock;
  /** Numbers in [0, 1), for the jitter. */
  readonly random: () => number;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds from an answer to the next poll, give or take a tenth. A function gets the last answer. */
  readonly intervalMs: number | ((snapshot: Snapshot | undefined) => number);
  /** For all of it, the request in flight included. */
  readonly deadlineMs: number;
  /** Asks once, without repeating: pacing is the loop's. */
  readonly ask: (signal: AbortSignal) => Promise<Snapshot>;
  readonly onPoll?: ((event: PollEvent) => void) | undefined;
  /**
   * True where the gateway has answered for the task before: a 404 ends the watching at once. For a new task,
   * a 404 is repeated for 30 seconds.
   */
  readonly seenBefore?: boolean | undefined;
  /** Said when the deadline is over. */
  readonly late: string;
}

/** Time after the start in which a new task may still be unknown to the gateway. */
const GRACE_MS = 30_000;
/** Number of answers in a row that may be unreadable, or say that the query failed. */
const UNREADABLE = 3;
/** Timed out, too early, rate limited: statuses below 500 that may pass. */
const PASSING = new Set([408, 425, 429]);
/** The longest pause that failures alone lead to. */
const LONGEST_PAUSE_MS = 120_000;

/**
 * Asks until the consumer leaves: the first time at once, then an interval after each answer. What may pass (429, 5xx,
 * a failed connection) never ends it: it backs off, longer if `Retry-After` says so, up to the deadline.
 *
 * @throws {TimeoutError} phase `deadline`
 * @throws what `ask` throws, where asking again would not help; and the signal's reason, at once
 */
export async function* poll<Snapshot>(plan: PollPlan<Snapshot>): AsyncGenerator<Snapshot, never> {
  const { clock, random, deadlineMs, ask, onPoll, late } = plan;
  let failure: Error | undefined;
  const { signal, end } = openSpan(clock, plan.signal, deadlineMs, () => lateness(late, failure));
  const startedAt = clock.now();
  let failures = 0;
  let unreadable = 0;
  let seen = plan.seenBefore ?? false;
  const intervalAfter = (snapshot: Snapshot | undefined) =>
    typeof plan.intervalMs === "function" ? plan.intervalMs(snapshot) : plan.intervalMs;
  let intervalMs = intervalAfter(undefined);
  try {
    for (;;) {
      let backoffMs: number | undefined;
      try {
        signal.throwIfAborted();
        isolate(() => onPoll?.({ type: "ask" }));
        const snapshot = await ask(signal);
        failure = undefined;
        intervalMs = intervalAfter(snapshot);
        failures = 0;
        unreadable = 0;
        seen = true;
        yield snapshot;
      } catch (error) {
        const verdict = verdictOf(error);
        const isNew = !seen && clock.now() - startedAt < GRACE_MS;
        if (verdict === "stop" || (verdict === "absent" && !isNew)) throw error;
        if (verdict === "unreadable" && ++unreadable > UNREADABLE) throw error;
        if (verdict === "passing") backoffMs = backoff(error, intervalMs, ++failures);
        failure = error as Error;
      }
      const ms = (backoffMs ?? intervalMs) * (0.9 + 0.2 * random());
      isolate(() => onPoll?.({ type: "rest", ms, failure }));
      await clock.sleep(ms, signal);
    }
  } finally {
    end();
  }
}

/**
 * Classifies a failed poll: it may pass; the answer was unreadable, or said that the query failed; the task is not
 * there, which is normal right after its creation; or polling again can't help.
 */
function verdictOf(error: unknown): "passing" | "unreadable" | "absent" | "stop" {
  if (!isGatewayError(error)) return "stop";
  if (error.name === "ConnectionError" || error.name === "TimeoutError") return "passing";
  if (error.name === "ResponseError") return "unreadable";
  if (error.name !== "APIError") return "stop";
  const { status } = error;
  if (isClosedRoute(error)) return "stop";
  if (PASSING.has(status) || status >= 500) return "passing";
  if (status >= 200 && status < 300) return "unreadable";
  return status === 404 || status === 400 ? "absent" : "stop";
}

/** Says that the deadline is over, and what the last poll failed with: that may be why it never was answered. */
function lateness(late: string, failure: Error | undefined): TimeoutError {
  if (!failure) return new TimeoutError(late, "deadline");
  const askedMs = retryAfterOf(failure);
  const asked = askedMs > 0 ? ` (with Retry-After: ${Math.ceil(askedMs / 1000)} s)` : "";
  return new TimeoutError(`${late}. The last poll failed${asked}: ${failure.message}`, "deadline", {
    cause: failure,
  });
}

/** Waiting time that a refusal asks for, in milliseconds; 0 for none. */
function retryAfterOf(error: unknown): number {
  return (isGatewayError(error) && error.name === "APIError" && error.retryAfterMs) || 0;
}

/** Twice as long after each failure; never shorter than what the gateway asks for, with the jitter in mind. */
function backoff(error: unknown, intervalMs: number, failures: number): number {
  const grown = Math.min(intervalMs * 2 ** (failures - 1), Math.max(intervalMs, LONGEST_PAUSE_MS));
  return Math.max(grown, retryAfterOf(error) / 0.9);
}
