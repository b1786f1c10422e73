import type { JobState, StopReason } from "./states.js";

/**
 * Tables of jobs. A small response is in `text`, because each written row costs; later parts are in `job_parts`.
 * `text_id` and the `last_id` of a part are the ids of their last events.
 *
 * `ticket` is null without a reservation, and once the reservation is settled.
 *
 * `owner` is new for each run: only the owner changes an open job. The process that settles a lost job becomes its
 * owner. `expires_at` is null while a job is open.
 */
export const JOB_TABLES = [
  `CREATE TABLE IF NOT EXISTS jobs (key TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL, owner TEXT NOT NULL,
    fingerprint TEXT NOT NULL, state TEXT NOT NULL, details TEXT NOT NULL, ticket TEXT, payment TEXT, code TEXT,
    head TEXT, text TEXT, text_id BIGINT NOT NULL, last_id BIGINT NOT NULL, is_whole BIGINT NOT NULL, stop TEXT,
    alive_until BIGINT NOT NULL, read_until BIGINT NOT NULL, expires_at BIGINT, PRIMARY KEY (key, kind, id))`,
  "CREATE INDEX IF NOT EXISTS jobs_by_end ON jobs (key, kind, expires_at)",
  `CREATE TABLE IF NOT EXISTS job_parts (key TEXT NOT NULL, kind TEXT NOT NULL, job TEXT NOT NULL,
    last_id BIGINT NOT NULL, text TEXT NOT NULL, PRIMARY KEY (key, kind, job, last_id))`,
];

/** A row of `jobs`. */
export interface JobRow {
  readonly id: string;
  readonly owner: string;
  readonly fingerprint: string;
  readonly state: JobState;
  readonly details: string;
  readonly ticket: string | null;
  readonly payment: string | null;
  readonly code: string | null;
  readonly head: string | null;
  readonly text: string | null;
  readonly text_id: number;
  readonly last_id: number;
  readonly is_whole: number;
  readonly stop: StopReason | null;
  readonly alive_until: number;
  readonly read_until: number;
  readonly expires_at: number | null;
}

/** A row of `job_parts`. */
export type PartRow = {
  readonly last_id: number;
  readonly text: string;
};

/** Selects one job of a key. */
export const ONE = "key = ? AND kind = ? AND id = ?";
/** Selects one job, if it is open and belongs to this owner. */
export const MINE = `${ONE} AND owner = ? AND state IN ('claimed', 'sending')`;
/** Selects the parts of one job. */
export const PARTS = "key = ? AND kind = ? AND job = ?";
