import { type HostContext, type Job, operation, type Transaction } from "@sluice/worker-proxy/plugin";
import type { Store } from "./store.js";
import {
  addToSums,
  DELETED_BY_OWNER,
  type FileRow,
  findFile,
  NO_BYTES,
  SWEEP,
  scheduleJobs,
  selectFiles,
  type UserInput,
  updateFile,
} from "./tables.js";

/** Time after the end of a copy for which its source is not copied again, in milliseconds. */
const REMEMBER_MS = 86_400_000;
/** Number of files per deletion step. A bucket deletes up to 1,000 files in one call. */
const DELETE_PAGE = 100;
/** Number of rows per erasure step. */
const ERASE_PAGE = 500;

/**
 * Pause after the first failed deletion in the bucket, in milliseconds. Each pause is twice the previous pause, up to
 * `MAX_RETRY_MS`.
 */
const RETRY_MS = 10 * 60_000;
const MAX_RETRY_MS = 86_400_000;

/** Time until the sweep deletes a file that its request failed to delete, in milliseconds. */
const HANDOVER_MS = 60_000;

/**
 * Marks a file for deletion. The file counts as used space until the bucket has deleted it and no request can store it
 * any more. For a day, a removed copy is not made again.
 */
export const removeFile = operation("files/remove", async (transaction, { id }: { readonly id: string }) => {
  const { now } = transaction;
  const file = await findFile(transaction, id);
  if (file?.state !== "open" && file?.state !== "whole") return file;
  if (file.url !== null) await addToSums(transaction, { copies: -1 });
  const claimedUntil = getClaimExpiry(file, now);
  const dueAt = Math.max(now + HANDOVER_MS, claimedUntil);
  const removed = await updateFile(transaction, id, {
    ...{ state: "removed", url: null, attempts: DELETED_BY_OWNER, claimedUntil, dueAt },
  });
  await scheduleJobs(transaction);
  return removed;
});

/** The end of an upload request, or of an attempt at a copy, that has not stored its file. */
type FailedAttempt = {
  readonly id: string;
  readonly claim: string;
  /** The next attempt at a copy. */
  readonly copy?: {
    /** Number of attempts so far, without those that only waited for space. */
    readonly attempts: number;
    /** Time until the next attempt, in milliseconds; null for no more attempts. */
    readonly retryMs: number | null;
  };
};

/**
 * Ends the claim of a failed request or attempt. A file without stored parts is marked for deletion. Returns the row:
 * the caller deletes the file if its state is `removed`.
 */
export const endAttempt = operation(
  "files/end",
  async (transaction, { id, claim, copy }: FailedAttempt): Promise<FileRow | undefined> => {
    const { now } = transaction;
    const file = await findFile(transaction, id);
    if (file?.claim !== claim || file.state === "whole" || file.state === "ended") return file;
    const hasParts = file.received > 0;
    if (file.state === "removed" || hasParts) return await updateFile(transaction, id, { claimedUntil: 0 });
    const { attempts = 0, retryMs = null } = copy ?? {};
    const retryAt = now + (retryMs ?? 0);
    const ended = { claimedUntil: 0, attempts, retryAt, url: retryMs === null ? null : file.url };
    if (file.url !== ended.url) await addToSums(transaction, { copies: -1 });
    if (file.state === "queued") await endFile(transaction, { ...file, ...ended });
    else await updateFile(transaction, id, { ...ended, state: "removed", dueAt: now + HANDOVER_MS });
    await scheduleJobs(transaction);
    return await findFile(transaction, id);
  },
);

/**
 * Marks expired files for deletion. Returns all files that are due for deletion, each with its previous state. A file
 * with a claim is due again when the claim ends.
 */
export const markDueFiles = operation("files/due", async (transaction): Promise<readonly FileRow[]> => {
  const { key, now, query } = transaction;
  const due = "state <> 'queued' AND due_at <= ? ORDER BY due_at LIMIT ?";
  const files = await selectFiles(transaction, due, now, DELETE_PAGE);
  for (const file of files) {
    const { id, state, createdAt, source } = file;
    const claimedUntil = getClaimExpiry(file, now);
    if (state === "ended") await query("DELETE FROM files WHERE key = ? AND id = ?", key, id);
    else if (state !== "removed" || claimedUntil > 0) {
      // an expired copy may be made again, but not on the day of the first copy
      const isOld = state === "whole" && createdAt + REMEMBER_MS <= now;
      const dueAt = Math.max(file.dueAt, claimedUntil);
      await updateFile(transaction, id, { state: "removed", source: isOld ? null : source, dueAt });
    }
  }
  return files
    .filter(({ state }) => state !== "ended")
    .map((file) => ({ ...file, claimedUntil: getClaimExpiry(file, now) }));
});

/** Returns the expiry of a claim; 0 if the claim has ended. */
function getClaimExpiry({ claimedUntil }: FileRow, now: number): number {
  return claimedUntil > now ? claimedUntil : 0;
}

/** A file, and the last request or attempt that could store it. */
export type RemovedFile = Pick<FileRow, "id" | "claim">;

/** Result of a deletion step. */
type DeletionResult = {
  /** The files that the bucket deleted after their claims had ended. */
  readonly deleted: readonly RemovedFile[];
  /** The files that the bucket did not delete. */
  readonly undeleted: readonly RemovedFile[];
};

/** Ends the rows of deleted files, and postpones undeleted files. Returns the rows of the postponed files. */
export const endRemoval = operation(
  "files/gone",
  async (transaction, { deleted, undeleted }: DeletionResult): Promise<readonly FileRow[]> => {
    const { key, now, query } = transaction;
    const findRemoved = async ({ id, claim }: RemovedFile) => {
      const file = await findFile(transaction, id);
      // a later attempt may have stored a copy again
      return file?.state === "removed" && file.claim === claim ? file : undefined;
    };
    for (const removed of deleted) {
      const file = await findRemoved(removed);
      if (!file) continue;
      await query("DELETE FROM file_parts WHERE key = ? AND id = ?", key, file.id);
      await addToSums(transaction, { files: -1, bytes: -file.bytes });
      await endFile(transaction, file);
    }
    const postponed: FileRow[] = [];
    for (const removed of undeleted) {
      const file = await findRemoved(removed);
      // a repeated input finds the row already postponed
      if (!file || file.dueAt > now + HANDOVER_MS) continue;
      const dueAt = now + Math.min(RETRY_MS * 2 ** file.removals, MAX_RETRY_MS);
      const row = await updateFile(transaction, file.id, { removals: file.removals + 1, dueAt });
      if (row) postponed.push(row);
    }
    await scheduleJobs(transaction);
    return postponed;
  },
);

/** Stores the state of a file whose bytes are deleted: a pending copy is queued again, and a copied source is remembered. */
async function endFile({ key, now, query }: Transaction, file: FileRow): Promise<void> {
  const { id, attempts, url, source, retryAt } = file;
  const set = (change: Partial<FileRow>) =>
    updateFile({ key, query }, id, { ...NO_BYTES, attempts, url, ...change });
  if (url !== null) await set({ state: "queued", dueAt: Math.max(now, retryAt) });
  else if (source !== null) await set({ state: "ended", dueAt: now + REMEMBER_MS });
  else await query("DELETE FROM files WHERE key = ? AND id = ?", key, id);
}

/**
 * Marks a page of a user's files after an id for deletion, and deletes rows without bytes. Returns the id after which
 * the next page starts; undefined after the last page.
 */
export const eraseFiles = operation(
  "files/erase",
  async (transaction, { after }: { readonly after: string }): Promise<string | undefined> => {
    const { key, now, query } = transaction;
    const files = await selectFiles(transaction, "id > ? ORDER BY id LIMIT ?", after, ERASE_PAGE);
    const last = files.at(-1)?.id ?? after;
    const page = "key = ? AND id > ? AND id <= ?";
    await query(
      `DELETE FROM files WHERE ${page} AND (state = 'queued' OR state = 'ended')`,
      ...[key, after, last],
    );
    await query(
      `UPDATE files SET state = 'removed', source = NULL, url = NULL, attempts = ?, due_at = ? WHERE ${page}`,
      ...[DELETED_BY_OWNER, now, key, after, last],
    );
    await addToSums(transaction, { copies: -files.filter(({ url }) => url !== null).length });
    await scheduleJobs(transaction);
    return files.length === ERASE_PAGE ? last : undefined;
  },
);

/**
 * Creates the job that deletes expired files of a user, and files of interrupted requests. Each run deletes one page,
 * and its last operation schedules the next run.
 */
export function createSweep<Env>(store: Store<Env>): Job<UserInput> {
  return {
    ...SWEEP,
    run: async (context, { userId }) => void (await sweepPage(store, context, userId)),
    /** Counts the deletion of the due files as failed, because the deletion may have ended the process. */
    async onGivenUp({ host, env }, { userId }) {
      const { run } = await store.open(env as Env, userId, host);
      await run(endRemoval, { deleted: [], undeleted: await run(markDueFiles, null) });
    },
  };
}

/** Deletes a page of files. Returns their number, and an error if the bucket did not delete all of them. */
export async function sweepPage<Env>(
  store: Store<Env>,
  { host, env }: Pick<HostContext, "host" | "env">,
  userId: string,
): Promise<{ readonly count: number; readonly cause?: unknown }> {
  const { run, deleteFiles, report } = await store.open(env as Env, userId, host);
  const files = await run(markDueFiles, null);
  const cause = await deleteFiles(files);
  const unfinished = files.filter(({ state, isCopy }) => state === "open" && !isCopy);
  for (const row of unfinished) report(row, { outcome: "dropped", code: "upload_unfinished" });
  return { count: files.length, cause };
}
