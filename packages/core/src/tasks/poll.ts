import { type Clock, openSpan } from "../base/clock.js";
import { isolate } from "../base/isolate.js";
import { isAbsent, isClosedRoute } from "../transport/failure.js";
import { isTransient } from "../transport/is-transient.js";
import { isGatewayError, TimeoutError } from "../vocabulary/errors.js";

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

/** Milliseconds from an answer to the next poll, or a function of the last answer. */
export type Interval<Snapshot> = number | ((snapshot: Snapshot | undefined) => number);

/** Returns the milliseconds from `snapshot` to the next poll. */
export function findInterval<Snapshot>(interval: Interval<Snapshot>, snapshot: Snapshot | undefined): number {
  return typeof interval === "function" ? interval(snapshot) : interval;
}

/** Plan of a poll loop. Times are milliseconds. */
export interface PollPlan<Snapshot> {
  readonly clock: Clock;
  /** Returns numbers from 0 up to, but not including, 1, for the jitter. */
  readonly random: () => number;
  readonly signal?: AbortSignal | undefined;
  /** Milliseconds from an answer to the next poll, varied by up to 10 %. A function gets the last answer. */
  readonly intervalMs: Interval<Snapshot>;
  /** Limit for the whole loop. A request in flight counts, too. */
  readonly deadlineMs: number;
  /** Sends one poll. It must not repeat the request: the loop does that. */
  readonly query: (signal: AbortSignal) => Promise<Snapshot>;
  readonly onPoll?: ((event: PollEvent) => void) | undefined;
  /** True where the gateway has answered before. */
  readonly seenBefore?: boolean | undefined;
  /** Unix milliseconds after which the gateway may have forgotten: a 404 then ends the loop at once. */
  readonly knownUntil?: number | undefined;
  /** Message of the error after the deadline. */
  readonly late: string;
}

/** Time after the start in which the gateway may not know a new task yet. */
const GRACE_MS = 30_000;
/** Time for which the gateway may not know a task that it knew. */
const ABSENT_MS = 120_000;
/** Number of consecutive answers that may be no answer: they could not be read, reported a failed query, or refused. */
const DOUBTFUL = 3;
/** Longest wait that failures alone cause. */
const MAX_PAUSE_MS = 120_000;
/** Longest wait that the gateway can ask for. */
const MAX_RETRY_AFTER_MS = 600_000;

/**
 * Polls until the consumer leaves: at once, then an interval after each answer. Failures that may pass (429, 5xx, a
 * failed connection) do not end it. It backs off, longer if `Retry-After` is longer, up to 10 minutes. No single answer ends
 * it for a task that the gateway has answered for.
 *
 * @throws {TimeoutError} phase `deadline`
 * @throws errors of `query` after which another poll would not help; the signal's reason, at once
 */
export async function* poll<Snapshot>(plan: PollPlan<Snapshot>): AsyncGenerator<Snapshot, never> {
  const { clock, random, deadlineMs, query, onPoll, late } = plan;
  let failure: Error | undefined;
  const { signal, end } = openSpan(clock, plan.signal, deadlineMs, () => createDeadlineError(late, failure));
  const startedAt = clock.now();
  let failures = 0;
  let doubt: string | undefined;
  let doubts = 0;
  let doubtedAt = 0;
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
        doubts = 0;
        seen = true;
        yield snapshot;
      } catch (error) {
        const verdict = classifyFailure(error, seen);
        if (verdict === "passing") backoffMs = computeBackoff(error, intervalMs, ++failures);
        else {
          // of one kind: an answer that can't be read says nothing of the 404s before it
          if (verdict !== doubt) doubts = 0;
          doubt = verdict;
          if (++doubts === 1) doubtedAt = clock.now();
          if (verdict === "stop" || (verdict === "absent" ? isForgotten() : doubts > DOUBTFUL)) throw error;
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
    return doubts > DOUBTFUL && clock.now() - doubtedAt >= ABSENT_MS;
  }
}

/**
 * Classifies a failed poll.
 *
 * - `passing`: another poll may succeed
 * - `doubtful`: the answer could not be read, reported a failed query, or refused what was answered before
 * - `absent`: the gateway does not know the task, as happens right after its creation
 * - `stop`: another poll cannot help
 */
function classifyFailure(error: unknown, seen: boolean): "passing" | "doubtful" | "absent" | "stop" {
  if (!isGatewayError(error)) return "stop";
  if (isTransient(error) || error.name === "TimeoutError") return "passing";
  if (error.name === "ResponseError") return "doubtful";
  if (error.name !== "APIError" || isClosedRoute(error)) return "stop";
  const { status } = error;
  // too early
  if (status === 425) return "passing";
  if ([401, 403].includes(status)) return "stop";
  if (isAbsent(error) || (status === 400 && !seen)) return "absent";
  // a page of 404, too: it says nothing of the task
  return seen || status === 404 || (status >= 200 && status < 300) ? "doubtful" : "stop";
}

/** Makes the error of the deadline. Its cause is the error of the last poll, which may be the reason. */
function createDeadlineError(late: string, failure: Error | undefined): TimeoutError {
  if (!failure) return new TimeoutError(late, "deadline");
  const waitMs = readRetryAfter(failure);
  const hint = waitMs > 0 ? ` (with Retry-After: ${Math.ceil(waitMs / 1000)} s)` : "";
  return new TimeoutError(`${late}. The last poll failed${hint}: ${failure.message}`, "deadline", {
    cause: failure,
  });
}

/** Waiting time that a refusal sets, in milliseconds; 0 for none. */
function readRetryAfter(error: unknown): number {
  return (isGatewayError(error) && error.name === "APIError" && error.retryAfterMs) || 0;
}

/**
 * Doubles the wait after each failure. It is never shorter than the gateway's own waiting time, also after the jitter.
 */
function computeBackoff(error: unknown, intervalMs: number, failures: number): number {
  const grown = Math.min(intervalMs * 2 ** (failures - 1), Math.max(intervalMs, MAX_PAUSE_MS));
  return Math.max(grown, Math.min(readRetryAfter(error), MAX_RETRY_AFTER_MS) / 0.9);
}
