import { reading, type Transaction, type Value } from "@sluice/worker-proxy/plugin";
import { declareJob } from "../../host/define.js";

/**
 * Rows by user: one row for each file, for each stored part of an unfinished upload, and one row of sums.
 */
export const FILE_TABLES = [
  `CREATE TABLE IF NOT EXISTS files (key TEXT NOT NULL, id TEXT NOT NULL, state TEXT NOT NULL, bytes BIGINT NOT NULL,
    received BIGINT NOT NULL, type TEXT NOT NULL, is_copy BIGINT NOT NULL, source TEXT, task_id TEXT, url TEXT,
    attempts BIGINT NOT NULL, created_at BIGINT NOT NULL, retry_at BIGINT NOT NULL, upload_id TEXT, claim TEXT NOT NULL,
    claimed_until BIGINT NOT NULL, due_at BIGINT NOT NULL, removals BIGINT NOT NULL, PRIMARY KEY (key, id))`,
  "CREATE UNIQUE INDEX IF NOT EXISTS files_source ON files (key, source) WHERE source IS NOT NULL",
  "CREATE INDEX IF NOT EXISTS files_queued ON files (key, due_at) WHERE state = 'queued'",
  "CREATE INDEX IF NOT EXISTS files_due ON files (key, due_at) WHERE state <> 'queued'",
  `CREATE TABLE IF NOT EXISTS file_parts (key TEXT NOT NULL, id TEXT NOT NULL, number BIGINT NOT NULL, etag TEXT NOT NULL,
    PRIMARY KEY (key, id, number))`,
  `CREATE TABLE IF NOT EXISTS file_users (key TEXT NOT NULL, user_id TEXT NOT NULL, files BIGINT NOT NULL,
    bytes BIGINT NOT NULL, copies BIGINT NOT NULL, PRIMARY KEY (key))`,
];

/**
 * A file of a user: an upload, or a copy of a file of the gateway. The row exists before the first byte is in the bucket,
 * and until the bucket has deleted the file. Each step of its life is one transaction:
 *
 * | from             | step                                      | operation                     | to                 |
 * | ---------------- | ----------------------------------------- | ----------------------------- | ------------------ |
 * | no row           | an upload begins: space is reserved       | `reserve`                     | `open`             |
 * | no row           | the gateway has made a file               | `addCopies`                   | `queued`           |
 * | `queued`         | an attempt at the copy begins             | `beginCopy`                   | `queued`           |
 * | `queued`, `open` | the size of the copy is known, or grows   | `reserve`                     | `open`             |
 * | `open`           | a request stores the next part            | `claimPart`, `addPart`        | `open`             |
 * | `open`           | all bytes are stored                      | `completeFile`                | `whole`            |
 * | `open`           | a request or attempt fails without a part | `endAttempt`                  | `removed`          |
 * | `open`, `whole`  | its time has passed                       | `markDueFiles`                     | `removed`          |
 * | `open`, `whole`  | its user or an operator deletes it        | `removeFile`                  | `removed`          |
 * | `removed`        | the bucket has deleted an upload          | `endRemoval`                  | no row             |
 * | `removed`        | the bucket has deleted an attempt         | `endRemoval`                  | `queued`           |
 * | `removed`        | the bucket has deleted a copy             | `endRemoval`                  | `ended`, no row    |
 * | `queued`         | the last attempt fails without bytes      | `endAttempt`                  | `ended`            |
 * | `ended`          | a day has passed                          | `markDueFiles`                     | no row             |
 * | with bytes       | its user is erased                        | `eraseFiles`                  | `removed`          |
 * | without bytes    | its user is erased                        | `eraseFiles`                  | no row             |
 */
export interface FileRow {
  readonly id: string;
  /**
   * - `queued`: a copy waits for its next attempt at `dueAt`, without bytes.
   * - `open`: a request or an attempt stores bytes. It ends at `dueAt`.
   * - `whole`: the file is stored until `dueAt`.
   * - `removed`: the user can't find the file. The bucket deletes it at `dueAt`, and its row counts until then. A copy
   *   with a `url` is then `queued`.
   * - `ended`: a copy without bytes, which is not made again until `dueAt`.
   */
  readonly state: "queued" | "open" | "whole" | "removed" | "ended";
  /** Size that counts in the user's space, in bytes; 0 for a file without bytes. */
  readonly bytes: number;
  /** Number of stored bytes of an upload. */
  readonly received: number;
  readonly type: string;
  /** 1 for a copy, 0 for an upload. */
  readonly isCopy: 0 | 1;
  /** Hash that identifies the gateway's file. A user has one copy of each file. */
  readonly source: string | null;
  /** The gateway's task id, for a copy. */
  readonly taskId: string | null;
  /** URL of the gateway's file while the copy is pending. */
  readonly url: string | null;
  /** Number of attempts at a copy, or {@link DELETED_BY_OWNER}. */
  readonly attempts: number;
  /** Unix milliseconds. */
  readonly createdAt: number;
  /** Time of the next attempt once the bucket has deleted the bytes of this attempt, in Unix milliseconds. */
  readonly retryAt: number;
  /** Id of the multipart upload in the bucket. */
  readonly uploadId: string | null;
  /** Id of the request or attempt that may store bytes now: one at a time. */
  readonly claim: string;
  /** Expiry of the claim, in Unix milliseconds; 0 once it has ended. */
  readonly claimedUntil: number;
  /** Time of the next step, in Unix milliseconds. See `state`. */
  readonly dueAt: number;
  /** Number of failed deletions in the bucket. */
  readonly removals: number;
}

/** A mark in `attempts`: the user deleted the copy, so no attempt follows, and the copy is reported as stopped. */
export const DELETED_BY_OWNER = -1;

/** A row without bytes. */
export const NO_BYTES = { bytes: 0, received: 0, uploadId: null, claimedUntil: 0, removals: 0 } as const;

const NAMES =
  "id state bytes received type isCopy source taskId url attempts createdAt retryAt uploadId claim claimedUntil dueAt removals".split(
    " ",
  ) as readonly (keyof FileRow)[];
const toColumn = (name: string) => name.replace(/[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
/** Columns of a {@link FileRow}, under its property names. Postgres converts unquoted names to lower case. */
const COLUMNS = NAMES.map((name) => `${toColumn(name)} AS "${name}"`).join(", ");

/** Input of the jobs of a user. Events contain the user id, and a key may be a hash. */
export type UserInput = { readonly userId: string };

/**
 * Number of attempts of the jobs. It covers processes that end during a job, and an unavailable database. Failures of the
 * bucket and of file hosts are counted in the rows.
 */
const ATTEMPTS = 100;
export const SWEEP = declareJob<UserInput>("files/sweep", ATTEMPTS);
export const COPY = declareJob<UserInput>("files/copy", ATTEMPTS);

type Rows = Pick<Transaction, "key" | "query">;

export function selectFiles({ key, query }: Rows, where: string, ...values: readonly Value[]) {
  return query<FileRow>(`SELECT ${COLUMNS} FROM files WHERE key = ? AND ${where}`, key, ...values);
}

export async function findFile(rows: Rows, id: string): Promise<FileRow | undefined> {
  return (await selectFiles(rows, "id = ?", id))[0];
}

export async function insertFile({ key, query }: Rows, file: FileRow): Promise<void> {
  const marks = NAMES.map(() => "?").join(", ");
  await query(
    `INSERT INTO files (key, ${NAMES.map(toColumn).join(", ")}) VALUES (?, ${marks})`,
    ...[key, ...NAMES.map((name) => file[name])],
  );
}

/** Updates a file of the key. Returns undefined for a file without a row. */
export async function updateFile(
  { key, query }: Rows,
  id: string,
  change: Partial<FileRow>,
): Promise<FileRow | undefined> {
  const set = Object.keys(change).map((name) => `${toColumn(name)} = ?`);
  const sql = `UPDATE files SET ${set.join(", ")} WHERE key = ? AND id = ? RETURNING ${COLUMNS}`;
  return (await query<FileRow>(sql, ...Object.values(change), key, id))[0];
}

/** Creates the row of an upload without bytes. */
export function createRow(id: string, createdAt: number) {
  const none = { source: null, taskId: null, url: null } as const;
  return { id, ...NO_BYTES, type: "", isCopy: 0, ...none, attempts: 0, createdAt, retryAt: 0 } as const;
}

/** The files of a user: their number, their bytes, and the number of pending copies. */
interface Sums {
  readonly files: number;
  readonly bytes: number;
  readonly copies: number;
}

/** Reads the sums of a user. Adds a row of zeros if it is missing. */
export async function readOrAddSums({ key, query }: Rows, userId: string): Promise<Sums> {
  const [sums] = await query<Sums>("SELECT files, bytes, copies FROM file_users WHERE key = ?", key);
  if (sums) return sums;
  const none = { files: 0, bytes: 0, copies: 0 };
  await query(
    "INSERT INTO file_users (key, user_id, files, bytes, copies) VALUES (?, ?, 0, 0, 0)",
    ...[key, userId],
  );
  return none;
}

export async function addToSums(
  { key, query }: Rows,
  { files = 0, bytes = 0, copies = 0 }: Partial<Sums>,
): Promise<void> {
  await query(
    "UPDATE file_users SET files = files + ?, bytes = bytes + ?, copies = copies + ? WHERE key = ?",
    ...[files, bytes, copies, key],
  );
}

/**
 * Time after a due attempt until the sweep schedules the copy job again, in milliseconds. A host drops a job if its
 * process ends several times. Without the sweep, the remaining copies would wait forever.
 */
const LOST_COPY_MS = 3_600_000;

/**
 * Schedules the jobs for the rows with the earliest due times. Without rows, cancels the sweep and deletes the user's
 * sums. A copy job without a due copy does nothing.
 *
 * @param isLater true if rows are due later than before: a sweep that comes too early schedules the next one
 */
export async function scheduleJobs(transaction: Transaction, { isLater = false } = {}): Promise<void> {
  const { key, query } = transaction;
  const [next] = await query<{ userId: string; copyAt: number | null; sweepAt: number | null }>(
    `SELECT user_id AS "userId", (SELECT MIN(due_at) FROM files WHERE key = ? AND state = 'queued') AS "copyAt",
      (SELECT MIN(due_at) FROM files WHERE key = ? AND state <> 'queued') AS "sweepAt"
      FROM file_users WHERE key = ?`,
    ...[key, key, key],
  );
  if (!next) return;
  const { userId, copyAt, sweepAt } = next;
  const input = { userId };
  if (copyAt !== null) await transaction.schedule(COPY, { id: "", at: copyAt, input });
  if (isLater) return;
  const lostAt = copyAt === null ? Number.POSITIVE_INFINITY : copyAt + LOST_COPY_MS;
  const at = Math.min(sweepAt ?? Number.POSITIVE_INFINITY, lostAt);
  if (Number.isFinite(at)) return await transaction.schedule(SWEEP, { id: "", at, input });
  await transaction.cancel(SWEEP, "");
  await query("DELETE FROM file_users WHERE key = ?", key);
}

/** Number of rows per page. */
const PAGE = 100;

export const readFile = reading("files/read", (rows, { id }: { readonly id: string }) => findFile(rows, id));

export const readParts = reading("files/parts", ({ key, query }, { id }: { readonly id: string }) =>
  query<{ readonly partNumber: number; readonly etag: string }>(
    'SELECT number AS "partNumber", etag FROM file_parts WHERE key = ? AND id = ? ORDER BY number',
    ...[key, id],
  ),
);

/** Reads a page of rows, ordered by id. `next` is the cursor of the next page, which may be empty. */
export const readPage = reading("files/page", async (rows, { after }: { readonly after: string }) => {
  const files = await selectFiles(rows, "id > ? ORDER BY id LIMIT ?", after, PAGE);
  return { files, next: files[PAGE - 1]?.id };
});

/** Finds files by their ids, and by the sources of the copied files. */
export const findFiles = reading(
  "files/find",
  async (rows, { ids, sources }: { ids: readonly string[]; sources: readonly string[] }) => {
    const findBy = (column: "id" | "source") => (value: string) => selectFiles(rows, `${column} = ?`, value);
    return (await Promise.all([...ids.map(findBy("id")), ...sources.map(findBy("source"))])).flat();
  },
);

/** Returns true for a file that its user can find. */
export function isVisible({ state, dueAt }: FileRow): boolean {
  return (state === "open" || state === "whole") && dueAt > Date.now();
}
