import { type Clock, openSpan } from "../base/clock.js";
import { isolate } from "../base/isolate.js";
import { isAbsent, isClosedRoute, isTransient } from "../transport/failure.js";
import { isGatewayError, TimeoutError } from "../types/errors.js";

/** Step of a poll loop: a poll, or the wait for the next one. */
export type PollEvent =
  | {
      /** A poll is sent. */
      readonly type: "poll";
    }
  | {
      /** The loop waits until the next poll. */
      readonly type: "wait";
      /** Length of the wait in milliseconds. */
      readonly ms: number;
      /** Error of the last poll, if it failed. */
      readonly failure: Error | undefined;
    };

/** Milliseconds from a response to the next poll, or a function of the last snapshot. */
export type Interval<Snapshot> = number | ((snapshot: Snapshot | undefined) => number);

/** Returns the milliseconds from `snapshot` to the next poll. */
export function findInterval<Snapshot>(interval: Interval<Snapshot>, snapshot: Snapshot | undefined): number {
  return typeof interval === "function" ? interval(snapshot) : interval;
}

/** Plan of a poll loop. Times are milliseconds. */
export interface PollPlan<Snapshot> {
  readonly clock: Clock;
  /** Returns numbers from 0 (included) to 1 (excluded) for the jitter. */
  readonly random: () => number;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds from a response to the next poll, varied by up to 10 %. A function gets the last snapshot. */
  readonly intervalMs: Interval<Snapshot>;
  /** Limit for the whole loop, including a request in flight. */
  readonly deadlineMs: number;
  /** Sends one poll. It must not retry: the loop does. */
  readonly query: (signal: AbortSignal) => Promise<Snapshot>;
  readonly onPoll?: ((event: PollEvent) => void) | undefined;
  /** True if the gateway has reported the task before. */
  readonly seenBefore?: boolean | undefined;
  /** Unix milliseconds after which the gateway may have deleted the task: the first 404 then ends the loop. */
  readonly knownUntil?: number | undefined;
  /** Message of the error after the deadline. */
  readonly deadlineText: string;
}

/** Time after the start during which the gateway may not know a new task. */
const GRACE_MS = 30_000;
/** Time during which the gateway may temporarily not know a task. */
const ABSENT_MS = 120_000;
/** Number of consecutive inconclusive responses to tolerate: unreadable, a failed query, or a rejection. */
const MAX_DOUBTFUL = 3;
/** Longest wait after failures without `Retry-After`. */
const MAX_PAUSE_MS = 120_000;
/** Longest `Retry-After` that the loop follows. */
const MAX_RETRY_AFTER_MS = 600_000;

/**
 * Polls at once, then an interval after each response, until the consumer stops. Transient failures (429, 5xx, a failed
 * connection) do not end the loop: it backs off exponentially, and follows `Retry-After` up to 10 minutes. For a known
 * task, no single response ends the loop.
 *
 * @throws {TimeoutError} phase `deadline`
 * @throws errors of `query` after which another poll would not help; the signal's reason, at once
 */
export async function* poll<Snapshot>(plan: PollPlan<Snapshot>): AsyncGenerator<Snapshot, never> {
  const { clock, random, deadlineMs, query, onPoll, deadlineText } = plan;
  let failure: Error | undefined;
  const createReason = () => createDeadlineError(deadlineText, failure);
  const { signal, end } = openSpan(clock, plan.signal, deadlineMs, createReason);
  const startedAt = clock.now();
  let failures = 0;
  let lastKind: string | undefined;
  let consecutive = 0;
  let consecutiveSince = 0;
  let seen = plan.seenBefore ?? false;
  let intervalMs = findInterval(plan.intervalMs, undefined);
  try {
    for (;;) {
      let backoffMs: number | undefined;
      try {
        signal.throwIfAborted();
        isolate(() => onPoll?.({ type: "poll" }));
        const snapshot = await query(signal);
        failure = undefined;
        intervalMs = findInterval(plan.intervalMs, snapshot);
        failures = 0;
        consecutive = 0;
        seen = true;
        yield snapshot;
      } catch (error) {
        const kind = classifyFailure(error, seen);
        if (kind === "transient") backoffMs = computeBackoff(error, intervalMs, ++failures);
        else {
          // counts only consecutive failures of one kind: an unreadable response does not confirm earlier 404s
          if (kind !== lastKind) consecutive = 0;
          lastKind = kind;
          if (++consecutive === 1) consecutiveSince = clock.now();
          const isFinal = kind === "absent" ? isForgotten() : kind === "final" || consecutive > MAX_DOUBTFUL;
          if (isFinal) throw error;
        }
        failure = error as Error;
      }
      const ms = (backoffMs ?? intervalMs) * (0.9 + 0.2 * random());
      isolate(() => onPoll?.({ type: "wait", ms, failure }));
      await clock.sleep(ms, signal);
    }
  } finally {
    end();
  }

  function isForgotten(): boolean {
    if (!seen) return clock.now() - startedAt >= GRACE_MS;
    if (plan.knownUntil && plan.knownUntil <= Date.now()) return true;
    return consecutive > MAX_DOUBTFUL && clock.now() - consecutiveSince >= ABSENT_MS;
  }
}

/**
 * Kind of a failed poll.
 *
 * - `transient`: another poll may succeed
 * - `doubtful`: an unreadable response, a failed query, or a rejection of a known task
 * - `absent`: the gateway does not know the task, for example right after its creation
 * - `final`: another poll cannot help
 */
type FailureKind = "transient" | "doubtful" | "absent" | "final";

/** @param seen true if the gateway has reported the task before */
function classifyFailure(error: unknown, seen: boolean): FailureKind {
  if (!isGatewayError(error)) return "final";
  if (isTransient(error) || error.name === "TimeoutError") return "transient";
  if (error.name === "ResponseError") return "doubtful";
  if (error.name !== "APIError" || isClosedRoute(error)) return "final";
  const { status } = error;
  // 425 Too Early
  if (status === 425) return "transient";
  if ([401, 403].includes(status)) return "final";
  if (isAbsent(error) || (status === 400 && !seen)) return "absent";
  // this 404 is a page of another server, not the gateway's response about the task
  return seen || status === 404 || (status >= 200 && status < 300) ? "doubtful" : "final";
}

/** Creates the error of the deadline. Its cause is the error of the last poll. */
function createDeadlineError(message: string, failure: Error | undefined): TimeoutError {
  if (!failure) return new TimeoutError(message, "deadline");
  const waitMs = readRetryAfter(failure);
  const hint = waitMs > 0 ? ` (with Retry-After: ${Math.ceil(waitMs / 1000)} s)` : "";
  return new TimeoutError(`${message}. The last poll failed${hint}: ${failure.message}`, "deadline", {
    cause: failure,
  });
}

/** Returns the `Retry-After` of an error, in milliseconds; 0 without one. */
function readRetryAfter(error: unknown): number {
  return (isGatewayError(error) && error.name === "APIError" && error.retryAfterMs) || 0;
}

/** Doubles the wait after each failure. It never falls below `Retry-After`, even after the jitter. */
function computeBackoff(error: unknown, intervalMs: number, failures: number): number {
  const grown = Math.min(intervalMs * 2 ** (failures - 1), Math.max(intervalMs, MAX_PAUSE_MS));
  return Math.max(grown, Math.min(readRetryAfter(error), MAX_RETRY_AFTER_MS) / 0.9);
}
