/**
 * The state of a job. It changes in this order, and each change is one transaction:
 *
 * - `claimed`: its row is stored, and nothing was sent. A crash in this state costs nothing and frees the id.
 * - `sending`: stored right before the request leaves. After a crash in this state the request may have been billed.
 * - `complete`, `failed`, `stopped`, `lost`: the job has ended, and its response is stored until `expiresAt`.
 * - `refused`: the job has ended and cost nothing. Its id is free; the row stays until its reservation is released.
 */
export type JobState = "claimed" | "sending" | "complete" | "failed" | "stopped" | "lost" | "refused";

/** Returns true for a job that has an owner. */
export function isOpen(state: JobState): boolean {
  return state === "claimed" || state === "sending";
}

/** The reason for which a job is stopped. */
export type StopReason = "stopped" | "orphaned" | "erased";

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

/** A refusal, as it is stored and sent to another process. */
export interface StoredRefusal {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly type?: string | undefined;
  readonly param?: string | undefined;
  readonly budget?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** The part of a response before its body. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly type: string;
  /** A refusal instead of the response. */
  readonly refusal?: StoredRefusal | undefined;
}

/** Lease of an owner, in milliseconds: a job whose owner has not renewed it by then is lost. */
export const ALIVE_MS = 25_000;
/** Longest time between two renewals of the lease, in milliseconds. Events are stored with them, because each written row costs. */
export const RENEW_MS = 12_000;
/**
 * Interval in which a timer looks at an open job, in milliseconds. Most streams end before the first look, which costs rows.
 * A Durable Object wakes as often while jobs run, so that both have one alarm.
 */
export const TEND_MS = 50_000;
/** Time until a timer settles a reservation that could not be settled, in milliseconds. */
export const SETTLE_MS = 30_000;
/** Time for which the owner stores events early after a reader in another process has asked for them, in milliseconds. */
export const ATTEND_MS = 30_000;

/** Returns a value without the type that a row's JSON lacks. */
export function parseJSON<Value>(text: string | null): Value | undefined {
  return text === null ? undefined : (JSON.parse(text) as Value);
}
