import type { HostContext, Job, JobEvent, Transaction } from "@sluice/worker-proxy";
import { logError } from "@sluice/worker-proxy/plugin";
import { operation } from "../../host/define.js";
import type { Store } from "./store.js";
import {
  COPY,
  DELETED,
  type FileRow,
  findFile,
  LOST_COPY_MS,
  SWEEP,
  scheduleSweep,
  selectCopies,
  selectFiles,
  type UserInput,
  updateFile,
} from "./tables.js";

/** Time for which a copy is not made again after its owner deleted it, in milliseconds. */
const REMEMBER_MS = 86_400_000;
/** Number of files per deletion step. A bucket deletes up to 1,000 files in one call. */
const BATCH = 100;
/** Number of rows marked per erasure step. */
const ERASED = 500;

/**
 * Pause after the first failed deletion in the bucket, in milliseconds. Each pause is twice the previous pause, up to
 * `MAX_RETRY_MS`.
 */
const RETRY_MS = 10 * 60_000;
const MAX_RETRY_MS = 86_400_000;

/** Time until the sweep deletes a file that its request failed to delete, in milliseconds. */
const HANDOVER_MS = 60_000;

const MARK = "state = 'removed', source = NULL, due_at = ?";

/**
 * Marks a file for deletion from the bucket. The file uses space until its deletion. Returns undefined for a file
 * without a row.
 *
 * `isForGood` is true if the owner deletes the file, and false if the request or attempt that stores the file gives up.
 */
export const removeFile = operation(
  "files/remove",
  async (
    transaction,
    { id, userId, isForGood }: { readonly id: string; readonly userId: string; readonly isForGood: boolean },
  ): Promise<FileRow | undefined> => {
    if (isForGood) await cancelCopy(transaction, id);
    // the request that stores the file gives up, so end its claim
    else await updateFile(transaction, id, ["claimed_until = 0"]);
    const file = await findFile(transaction, id);
    if (!file || file.state === "removed") return file;
    await updateFile(transaction, id, [MARK, transaction.now + HANDOVER_MS]);
    await scheduleSweep(transaction, userId);
    return file;
  },
);

/** Marks expired files for deletion. Returns all files that are due for deletion, each with its previous state. */
export const findDue = operation("files/due", async (transaction, { userId }: UserInput) => {
  const { now } = transaction;
  const files = await selectFiles(transaction, "due_at <= ? ORDER BY due_at LIMIT ?", now, BATCH);
  for (const { id, state, dueAt } of files)
    if (state !== "removed") await updateFile(transaction, id, [MARK, dueAt]);
  const [waiting] = await selectCopies(transaction, "next_at <= ? LIMIT 1", now - LOST_COPY_MS);
  if (waiting) await transaction.schedule(COPY, { id: "", at: now, input: { userId } });
  return files;
});

/** Result of a deletion step. */
export type Deleted = UserInput & {
  readonly gone: readonly string[];
  /** The files that the bucket did not delete. */
  readonly left: readonly string[];
};

/**
 * Deletes the rows of deleted files, frees their space, and schedules the next step. Returns the rows of the remaining
 * files.
 */
export const endRemoval = operation(
  "files/gone",
  async (transaction, { userId, gone, left: undeleted }: Deleted): Promise<readonly FileRow[]> => {
    const { key, now, query } = transaction;
    for (const id of gone) {
      const file = await findFile(transaction, id);
      if (file?.state !== "removed") continue;
      // while a request may still store the file, keep the row without bytes, and delete the file again later
      if (file.claimedUntil > now)
        await updateFile(transaction, id, ["counted = 0, removals = 0, due_at = ?", file.claimedUntil]);
      else await query("DELETE FROM files WHERE key = ? AND id = ?", key, id);
      await query("DELETE FROM file_parts WHERE key = ? AND id = ?", key, id);
      if (file.counted > 0)
        await query(
          "UPDATE file_users SET files = files - 1, bytes = bytes - ? WHERE key = ?",
          ...[file.counted, key],
        );
    }
    const left: FileRow[] = [];
    for (const id of undeleted) {
      const file = await findFile(transaction, id);
      // a repeated input finds the row already postponed
      if (file?.state !== "removed" || file.dueAt > now + HANDOVER_MS) continue;
      const dueAt = now + Math.min(RETRY_MS * 2 ** file.removals, MAX_RETRY_MS);
      const postponed = await updateFile(transaction, id, ["removals = removals + 1, due_at = ?", dueAt]);
      if (postponed) left.push(postponed);
    }
    await scheduleSweep(transaction, userId);
    return left;
  },
);

/**
 * Marks a page of a user's files after an id for deletion, and deletes pending and finished copies. Returns the id
 * after which the next page starts; undefined after the last page.
 */
export const eraseFiles = operation(
  "files/erase",
  async (
    transaction,
    { after, userId }: UserInput & { readonly after: string },
  ): Promise<{ readonly next: string | undefined }> => {
    const isMoreToCopy = await deleteCopies(transaction, ERASED);
    const files = await selectFiles(transaction, "id > ? ORDER BY id LIMIT ?", after, ERASED);
    for (const { id, state, counted } of files)
      if (state !== "removed" || counted > 0) await updateFile(transaction, id, [MARK, transaction.now]);
    await scheduleSweep(transaction, userId);
    const isMore = files.length === ERASED || isMoreToCopy;
    return { next: isMore ? (files.at(-1)?.id ?? after) : undefined };
  },
);

/**
 * Creates the job that deletes expired files of a user, and files of interrupted requests. Each run deletes one page,
 * and its last operation schedules the next run.
 */
export function createSweep<Env>(store: Store<Env>): Job<UserInput> {
  return { ...SWEEP, run: async (context, { userId }) => void (await sweepPage(store, context, userId)) };
}

/** Deletes a page of files. Returns their number, and an error if the bucket did not delete all of them. */
export async function sweepPage<Env>(
  store: Store<Env>,
  { host, env }: Pick<HostContext, "host" | "env">,
  userId: string,
): Promise<{ readonly count: number; readonly cause?: unknown }> {
  const own = env as Env;
  const { run, deleteAll } = await store.open(own, userId, host);
  const files = await run(findDue, { userId });
  const { left, cause, isWhole } = await deleteAll(files);
  for (const row of left)
    report(row, { outcome: "waiting", code: "not_deleted", attempts: row.removals, nextAt: row.dueAt });
  if (!isWhole) logError(`fileStore: the bucket did not delete ${left.length} files; it is tried again`);
  const unfinished = files.filter(({ state, isCopy }) => state === "open" && !isCopy);
  for (const row of unfinished) report(row, { outcome: "dropped", code: "upload_unfinished" });
  return { count: files.length, cause };

  function report(
    { id, bytes, isCopy }: FileRow,
    event: Partial<JobEvent> & Pick<JobEvent, "outcome">,
  ): void {
    store.server.report({ kind: isCopy ? "copy" : "upload", ...event, id, bytes, user: userId }, own);
  }
}

/** Ends the pending copy of a file that its owner deletes. */
async function cancelCopy({ key, now, query }: Transaction, id: string): Promise<void> {
  const [copy] = await query(
    `UPDATE file_copies SET url = '', attempts = ?, next_at = ? WHERE key = ? AND id = ? AND url <> ''
      RETURNING source`,
    ...[DELETED, now + REMEMBER_MS, key, id],
  );
  if (copy) await query("UPDATE file_users SET copies = copies - 1 WHERE key = ?", key);
}

/** Deletes up to `limit` pending and finished copies of a user. Returns true if more may remain. */
async function deleteCopies({ key, query }: Transaction, limit: number): Promise<boolean> {
  const copies = await query<{ url: string }>(
    `DELETE FROM file_copies WHERE key = ? AND source IN (SELECT source FROM file_copies WHERE key = ? LIMIT ?)
      RETURNING url`,
    ...[key, key, limit],
  );
  const waiting = copies.filter(({ url }) => url !== "").length;
  await query("UPDATE file_users SET copies = copies - ? WHERE key = ?", waiting, key);
  return copies.length === limit;
}
