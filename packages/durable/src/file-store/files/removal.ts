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

/** Time for which a copy that its owner deleted is not made again. */
const REMEMBER_MS = 86_400_000;
/** Number of files that one step deletes: a bucket deletes up to 1,000 in one call. */
const BATCH = 100;
/** Number of rows that one step of an erasure marks. */
const ERASED = 500;

/** Pause after an attempt in which the bucket did not delete a file, and the longest one: each is twice the one before. */
const RETRY_MS = 10 * 60_000;
const MAX_RETRY_MS = 86_400_000;

/** Time after which the sweep deletes what a request should have deleted by itself. */
const HANDOVER_MS = 60_000;

const MARK = "state = 'removed', source = NULL, due_at = ?";

/**
 * Marks a file that is about to be deleted from the bucket. It counts until then. Returns undefined for a file without a row.
 *
 * `isForGood` is true where its owner deletes it, and false where the request or the attempt that stores it gives it up.
 */
export const removeFile = operation(
  "files/remove",
  async (
    transaction,
    { id, userId, isForGood }: { readonly id: string; readonly userId: string; readonly isForGood: boolean },
  ): Promise<FileRow | undefined> => {
    if (isForGood) await endCopyOf(transaction, id);
    // the request that stored it gives it up: nothing is stored any more
    else await updateFile(transaction, id, ["claimed_until = 0"]);
    const file = await findFile(transaction, id);
    if (!file || file.state === "removed") return file;
    await updateFile(transaction, id, [MARK, transaction.now + HANDOVER_MS]);
    await scheduleSweep(transaction, userId);
    return file;
  },
);

/** Marks files whose time is over, and returns them with those that are still to be deleted, each with its state before. */
export const findDue = operation("files/due", async (transaction, { userId }: UserInput) => {
  const { now } = transaction;
  const files = await selectFiles(transaction, "due_at <= ? ORDER BY due_at LIMIT ?", now, BATCH);
  for (const { id, state, dueAt } of files)
    if (state !== "removed") await updateFile(transaction, id, [MARK, dueAt]);
  const [waiting] = await selectCopies(transaction, "next_at <= ? LIMIT 1", now - LOST_COPY_MS);
  if (waiting) await transaction.schedule(COPY, { id: "", at: now, input: { userId } });
  return files;
});

/** The end of a step of deletion. */
export type Deleted = UserInput & {
  readonly gone: readonly string[];
  /** The files that the bucket did not delete. */
  readonly left: readonly string[];
};

/** Ends the rows of deleted files, gives their space back, and schedules the next step. Returns the rows that are left. */
export const endRemoval = operation(
  "files/gone",
  async (transaction, { userId, gone, left: undeleted }: Deleted): Promise<readonly FileRow[]> => {
    const { key, now, query } = transaction;
    for (const id of gone) {
      const file = await findFile(transaction, id);
      if (file?.state !== "removed") continue;
      // while a request may still store it, the row stays without bytes, and the file is deleted once more
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
      // a repeated input finds the row postponed
      if (file?.state !== "removed" || file.dueAt > now + HANDOVER_MS) continue;
      const dueAt = now + Math.min(RETRY_MS * 2 ** file.removals, MAX_RETRY_MS);
      const postponed = await updateFile(transaction, id, ["removals = removals + 1, due_at = ?", dueAt]);
      if (postponed) left.push(postponed);
    }
    await scheduleSweep(transaction, userId);
    return left;
  },
);

/** Marks a page of a user's files behind an id, and deletes results that wait to be copied. Returns the id of the next page. */
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
 * Makes the job that deletes files of a user whose time is over, and files that a request left when it was cut. One run
 * deletes one page; the next one is scheduled by its last operation.
 */
export function createSweep<Env>(store: Store<Env>): Job<UserInput> {
  return { ...SWEEP, run: async (context, { userId }) => void (await sweepPage(store, context, userId)) };
}

/** Deletes a page of files. Returns their number, and the error where the bucket did not delete all of them. */
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

/** Ends the copy of a file that its owner deletes. */
async function endCopyOf({ key, now, query }: Transaction, id: string): Promise<void> {
  const [copy] = await query(
    `UPDATE file_copies SET url = '', attempts = ?, next_at = ? WHERE key = ? AND id = ? AND url <> ''
      RETURNING source`,
    ...[DELETED, now + REMEMBER_MS, key, id],
  );
  if (copy) await query("UPDATE file_users SET copies = copies - 1 WHERE key = ?", key);
}

/** Deletes results of a user that are to be copied, or were. Returns true if there may be more. */
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
