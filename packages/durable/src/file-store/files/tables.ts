import type { Job, Transaction, Value } from "@sluice/worker-proxy";

/**
 * Rows by user: one row for each file, for each stored part of an unfinished upload and for each copy, and one row of
 * sums. Under {@link TOTAL_KEY}: the space that all users hold. A row of `files` exists before the first byte is in the
 * bucket, and until the bucket has deleted the file.
 */
export const FILE_TABLES = [
  `CREATE TABLE IF NOT EXISTS files (key TEXT NOT NULL, id TEXT NOT NULL, state TEXT NOT NULL, bytes BIGINT NOT NULL,
    counted BIGINT NOT NULL, received BIGINT NOT NULL, type TEXT NOT NULL, is_copy BIGINT NOT NULL, source TEXT, task_id TEXT,
    upload_id TEXT, claim TEXT NOT NULL, claimed_until BIGINT NOT NULL, due_at BIGINT NOT NULL, removals BIGINT NOT NULL,
    PRIMARY KEY (key, id))`,
  "CREATE UNIQUE INDEX IF NOT EXISTS files_source ON files (key, source) WHERE source IS NOT NULL",
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

/** Key of the space of all users. */
export const TOTAL_KEY = "files:total";

/** A file of a user. The row exists once its space is reserved. */
export interface FileRow {
  readonly id: string;
  /** `removed`: the user can't find the file. The row stays until the bucket has deleted the file. */
  readonly state: "open" | "whole" | "removed";
  /** Whole size, in bytes. */
  readonly bytes: number;
  /** Bytes that count in the user's space; 0 once the bucket has deleted the file. */
  readonly counted: number;
  /** Number of stored bytes. */
  readonly received: number;
  readonly type: string;
  /** 1 for a copy of a file of the gateway, 0 for an upload. */
  readonly isCopy: 0 | 1;
  /** Hash that identifies the gateway's file. A user has one copy of each file. */
  readonly source: string | null;
  /** The gateway's task id, for a copy. */
  readonly taskId: string | null;
  /** Id of the multipart upload in the bucket. */
  readonly uploadId: string | null;
  /** Id of the request or attempt that may store bytes now: one at a time. */
  readonly claim: string;
  /** Expiry of the claim, in Unix milliseconds; 0 once it has ended. */
  readonly claimedUntil: number;
  /** Next step of the sweep, in Unix milliseconds: the expiry of the file, or the next attempt to delete it. */
  readonly dueAt: number;
  /** Number of failed deletions in the bucket. */
  readonly removals: number;
}

/** Columns of a {@link FileRow}, under its property names. Postgres converts unquoted names to lower case. */
const FILE_COLUMNS = `id, state, bytes, counted, received, type, is_copy AS "isCopy", source, task_id AS "taskId",
  upload_id AS "uploadId", claim, claimed_until AS "claimedUntil", due_at AS "dueAt", removals`;

/** A pending or finished copy of a result. A finished row stays for a while, so that the result is not copied again. */
export interface CopyRow {
  /** Hash that identifies the gateway's file. */
  readonly source: string;
  /** Id of the copy. */
  readonly id: string;
  /** URL to fetch; empty once the copy is over. */
  readonly url: string;
  readonly taskId: string | null;
  readonly attempts: number;
  /** Time when the result was added, in Unix milliseconds. */
  readonly notedAt: number;
  /** Time of the next attempt, in Unix milliseconds. Once the copy is over, the time when its row is deleted. */
  readonly nextAt: number;
}

/** Value of `attempts` for a copy that its owner deleted before it was made. */
export const DELETED = -1;

/** Columns of a {@link CopyRow}, under its property names. */
const COPY_COLUMNS =
  'source, id, url, task_id AS "taskId", attempts, noted_at AS "notedAt", next_at AS "nextAt"';

/** Input of the jobs of a user. Events contain the user id, and a key may be a hash. */
export type UserInput = { readonly userId: string };

/**
 * The jobs by their names. Operations schedule them; `fileStore` adds their `run` functions.
 *
 * The number of attempts covers processes that end during a job, and an unavailable database. Failures of the bucket
 * and of file hosts are counted in the rows.
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

/** Reads pending and finished copies of the key. */
export function selectCopies({ key, query }: Rows, where: string, ...values: readonly Value[]) {
  return query<CopyRow>(`SELECT ${COPY_COLUMNS} FROM file_copies WHERE key = ? AND ${where}`, key, ...values);
}

/** Updates a file of the key. Returns undefined if the file does not match the condition. */
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

/** Adds the row of a user's sums if it is missing. */
export async function addUser({ key, query }: Transaction): Promise<void> {
  await query(
    "INSERT INTO file_users (key, files, bytes, copies) VALUES (?, 0, 0, 0) ON CONFLICT (key) DO NOTHING",
    key,
  );
}

/**
 * Time after a due attempt until the sweep schedules the copy job again, in milliseconds. A host drops a job if its
 * process ends several times. Without the sweep, the remaining copies would wait forever.
 */
export const LOST_COPY_MS = 3_600_000;

/**
 * Schedules the sweep for the row with the earliest due time. Without rows, cancels the timer and deletes the user's
 * sums.
 */
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
