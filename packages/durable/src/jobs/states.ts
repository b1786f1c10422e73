import type { SentRefusal } from "../host/object-messages.js";

/**
 * The state of a job. Each change is one transaction:
 *
 * ```
 * claimed ──> sending ──> complete | failed | stopped   written by its owner (`owner.ts`)
 *    │           └──────> lost                          written by a check after the lease of the owner (`check.ts`)
 *    └─────┴────────────> refused                       written by either: nothing was billed
 * ```
 *
 * - `claimed`: its row is stored, and nothing was sent. A crash in this state costs nothing and frees the id.
 * - `sending`: stored right before the request is sent. After a crash in this state the request may have been billed.
 * - `complete`, `failed`, `stopped`, `lost`: the job has ended, and its response is stored until `expiresAt`.
 * - `refused`: the job has ended and cost nothing. Its id is free; the row stays until its reservation is released.
 *
 * A request begins a job (`begin.ts`). The job sends the request (`run.ts`), and its owner stores the response. Readers
 * (`serve-reader.ts`) read from memory in the process of the owner (`live.ts`), and from the rows elsewhere and later
 * (`row-feed.ts`).
 */
export type JobState = "claimed" | "sending" | "complete" | "failed" | "stopped" | "lost" | "refused";

/** Returns true for a job that has not ended. */
export function isOpen(state: JobState): boolean {
  return state === "claimed" || state === "sending";
}

/** Why a job is stopped: by a request, without readers, or by the erasure of its user. */
export type StopReason = "stopped" | "abandoned" | "erased";

/** Metadata of a job for its event. */
export type JobDetails = {
  /** The id of the job in its event. */
  readonly eventId: string;
  /** The id of the user. */
  readonly user: string;
  readonly requestId?: string | undefined;
  readonly model?: string | undefined;
  /** Unix milliseconds. */
  readonly startedAt: number;
};

/** Amounts in the unit of the meter; undefined if unknown. */
export type Payment = {
  readonly reserved?: number | undefined;
  readonly spent?: number | undefined;
};

/** The part of a response before its body. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly type: string;
  /** A refusal that replaces the response. */
  readonly refusal?: SentRefusal;
}

/** Lease of an owner, in milliseconds. A job is lost when its owner does not renew the lease in time. */
export const ALIVE_MS = 25_000;
/**
 * Maximum time between two renewals of the lease, in milliseconds. A renewal also stores new events, because each
 * written row costs.
 */
export const RENEW_MS = 12_000;
/**
 * Interval at which a timer checks an open job, in milliseconds. Most streams end before the first check, which saves
 * its writes. A Durable Object with running jobs wakes at the same interval, so that a single alarm serves both.
 */
export const CHECK_MS = 50_000;
/** Pause before a timer retries a failed settlement, in milliseconds. */
export const SETTLE_MS = 30_000;
/** Time for which an owner stores events early after another process has reported a reader, in milliseconds. */
export const ATTEND_MS = 30_000;

/** Parses the JSON of a column, without validation; undefined for null. */
export function parseJSON<Value>(text: string | null): Value | undefined {
  return text === null ? undefined : (JSON.parse(text) as Value);
}
