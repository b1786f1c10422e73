import type { Job, Transaction, Value } from "@sluice/worker-proxy";

/**
 * Rows by user: a row for each file, each stored part of an unfinished upload, and each result to copy, and one row of sums.
 * Under {@link TOTAL_KEY}: what all users hold. A row of `files` exists before the first byte is in the bucket, and until the
 * bucket has deleted the last one.
 */
export const FILE_TABLES = [
  `CREATE TABLE IF NOT EXISTS files (key TEXT NOT NULL, id TEXT NOT NULL, state TEXT NOT NULL, bytes BIGINT NOT NULL,
    counted BIGINT NOT NULL, received BIGINT NOT NULL, type TEXT NOT NULL, is_copy BIGINT NOT NULL, source TEXT, task_id TEXT,
    upload_id TEXT, claim TEXT NOT NULL, claimed_until BIGINT NOT NULL, due_at BIGINT NOT NULL, removals BIGINT NOT NULL,
    PRIMARY KEY (key, id))`,
  "CREATE UNIQUE INDEX IF NOT EXISTS files_source ON files (key, source)",
  "CREATE INDEX IF NOT EXISTS files_due ON files (key, due_at)",
  `CREATE TABLE IF NOT EXISTS file_parts (key TEXT NOT NULL, id TEXT NOT NULL, number BIGINT NOT NULL, etag TEXT NOT NULL,
    PRIMARY KEY (key, id, number))`,
  `CREATE TABLE IF NOT EXISTS file_users (key TEXT NOT NULL, files BIGINT NOT NULL, bytes BIGINT NOT NULL,
    copies BIGINT NOT NULL, PRIMARY KEY (key))`,
  `CREATE TABLE IF NOT EXISTS file_copies (key TEXT NOT NULL, source TEXT NOT NULL, id TEXT NOT NULL, url TEXT NOT NULL,
    task_id TEXT, attempts BIGINT NOT NULL, noted_at BIGINT NOT NULL, next_at BIGINT NOT NULL,
    PRIMARY KEY (key, source))`,
  "CREATE INDEX IF NOT EXISTS file_copies_id ON file_copies (key, id)",
  "CREATE INDEX IF NOT EXISTS file_copies_next ON file_copies (key, next_at)",
  `CREATE TABLE IF NOT EXISTS file_holds (key TEXT NOT NULL, id TEXT NOT NULL, bytes BIGINT NOT NULL,
    upload_bytes BIGINT NOT NULL, ends_at BIGINT NOT NULL, PRIMARY KEY (key, id))`,
  "CREATE INDEX IF NOT EXISTS file_holds_end ON file_holds (key, ends_at)",
  `CREATE TABLE IF NOT EXISTS file_totals (key TEXT NOT NULL, bytes BIGINT NOT NULL, upload_bytes BIGINT NOT NULL,
    PRIMARY KEY (key))`,
];

/** The key of the space of all users. */
export const TOTAL_KEY = "files:total";

/** A file of a user, from the moment at which its space is reserved. */
export interface FileRow {
  readonly id: string;
  /** `removed`: no user finds it any more, and its row stays until the bucket has deleted it. */
  readonly state: "open" | "whole" | "removed";
  /** The whole size. */
  readonly bytes: number;
  /** The bytes that count in the space of its user; 0 once the bucket has deleted the file. */
  readonly counted: number;
  /** The bytes that are stored. */
  readonly received: number;
  readonly type: string;
  /** 1 for a copy of a file of the gateway, 0 for an upload. */
  readonly isCopy: 0 | 1;
  /** The hash that names the file of the gateway. A user has one copy of each. */
  readonly source: string | null;
  /** The gateway's id of the task of a copy. */
  readonly taskId: string | null;
  /** The multipart upload in the bucket. */
  readonly uploadId: string | null;
  /** The request or attempt that stores bytes now: one at a time. */
  readonly claim: string;
  /** Unix milliseconds until which it may store some; 0 once it has ended. */
  readonly claimedUntil: number;
  /** Unix milliseconds of the next step of the sweep: its expiry, or the next attempt to delete it. */
  readonly dueAt: number;
  /** Number of attempts in which the bucket did not delete it. */
  readonly removals: number;
}

/** The columns of a {@link FileRow}, under its names. Postgres turns names without quotes into small letters. */
const FILE_COLUMNS = `id, state, bytes, counted, received, type, is_copy AS "isCopy", source, task_id AS "taskId",
  upload_id AS "uploadId", claim, claimed_until AS "claimedUntil", due_at AS "dueAt", removals`;

/** A result that is to be copied, or was. A row that is over stays for a while, so that the result is not copied again. */
export interface CopyRow {
  /** The hash that names the file of the gateway. */
  readonly source: string;
  /** The id of the copy. */
  readonly id: string;
  /** The address to fetch; empty once the copy is over. */
  readonly url: string;
  readonly taskId: string | null;
  readonly attempts: number;
  /** Unix milliseconds. */
  readonly notedAt: number;
  /** Unix milliseconds of the next attempt; of the deletion of the row once the copy is over. */
  readonly nextAt: number;
}

/** Stands for the attempts of a copy that its owner has deleted before it was made. */
export const DELETED = -1;

/** The columns of a {@link CopyRow}, under its names. */
const COPY_COLUMNS =
  'source, id, url, task_id AS "taskId", attempts, noted_at AS "notedAt", next_at AS "nextAt"';

/** The input of the jobs of a user. Events name the user, and a key may be a hash. */
export type UserInput = { readonly userId: string };

/**
 * The jobs by their names. Operations schedule them; `fileStore` gives the host what they run.
 *
 * The number of attempts is for processes that end during a job, and for a database that is away. The bucket and the hosts of
 * files have their own numbers in the rows.
 */
export const SWEEP = declareJob("files/sweep");
export const COPY = declareJob("files/copy");

function declareJob(name: string): Job<UserInput> {
  return {
    name,
    attempts: 100,
    run: () => Promise.reject(new Error(`${name}: belongs to no fileStore()`)),
  };
}

type Rows = Pick<Transaction, "key" | "query">;

/** Reads files of the key. */
export function selectFiles({ key, query }: Rows, where: string, ...values: readonly Value[]) {
  return query<FileRow>(`SELECT ${FILE_COLUMNS} FROM files WHERE key = ? AND ${where}`, key, ...values);
}

/** Reads results of the key that are to be copied, or were. */
export function selectCopies({ key, query }: Rows, where: string, ...values: readonly Value[]) {
  return query<CopyRow>(`SELECT ${COPY_COLUMNS} FROM file_copies WHERE key = ? AND ${where}`, key, ...values);
}

/** Changes a file of the key. Returns undefined where it does not meet the condition. */
export async function updateFile(
  { key, query }: Rows,
  id: string,
  [change, ...values]: readonly [string, ...Value[]],
  condition = "",
): Promise<FileRow | undefined> {
  const sql = `UPDATE files SET ${change} WHERE key = ? AND id = ?${condition} RETURNING ${FILE_COLUMNS}`;
  return (await query<FileRow>(sql, ...values, key, id))[0];
}

/** Reads a file of the key. */
export async function findFile(rows: Rows, id: string): Promise<FileRow | undefined> {
  return (await selectFiles(rows, "id = ?", id))[0];
}

/** Adds the row of a user's sums, where it is missing. */
export async function addUser({ key, query }: Transaction): Promise<void> {
  await query(
    "INSERT INTO file_users (key, files, bytes, copies) VALUES (?, 0, 0, 0) ON CONFLICT (key) DO NOTHING",
    key,
  );
}

/**
 * Time after an attempt was due at which the sweep schedules the job of copies once more, in milliseconds. A host gives a job
 * up whose process has ended a few times; the copies behind it would wait for ever.
 */
export const LOST_COPY_MS = 3_600_000;

/** Schedules the sweep for the row that is due first. A user without rows has no timer and no sums. */
export async function scheduleSweep(transaction: Transaction, userId: string): Promise<void> {
  const { key, query } = transaction;
  const [next] = await query<{ at: number | null }>(
    `SELECT MIN(at) AS at FROM (SELECT MIN(due_at) AS at FROM files WHERE key = ?
      UNION ALL SELECT MIN(next_at) + ? AS at FROM file_copies WHERE key = ?) AS due`,
    ...[key, LOST_COPY_MS, key],
  );
  const at = next?.at ?? null;
  if (at !== null) return await transaction.schedule(SWEEP, { id: "", at, input: { userId } });
  await transaction.cancel(SWEEP, "");
  await query("DELETE FROM file_users WHERE key = ?", key);
}
