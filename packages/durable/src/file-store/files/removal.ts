import type { Transaction } from "@sluice/worker-proxy";
import { operation } from "../../host/define.js";
import {
  addUser,
  COPY,
  type FileRow,
  findFile,
  NEVER,
  SWEEP,
  selectFiles,
  sweepBy,
  type UserInput,
  updateFile,
} from "./tables.js";

/** Number of files that one step deletes: a bucket deletes up to 1,000 in one call. */
const BATCH = 100;
/** Number of rows that one step of an erasure marks. */
const ERASED = 500;

/** Pause after an attempt in which the bucket did not delete a file, and the longest one: each is twice the one before. */
const RETRY_MS = 10 * 60_000;
const MAX_RETRY_MS = 86_400_000;

/**
 * Time after an attempt was due at which the sweep schedules the job of copies once more, in milliseconds. A host gives a job
 * up that has ended its process a few times; the copies behind that one would wait for ever.
 */
export const LOST_COPY_MS = 3_600_000;

/** Time after which the sweep deletes what a request should have deleted by itself. */
const HANDOVER_MS = 60_000;

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
    const { key, now, query } = transaction;
    // a copy that its owner deletes is not made again
    if (isForGood) await query("UPDATE file_copies SET url = '' WHERE key = ? AND id = ?", key, id);
    // the request that stored it gives it up: nothing is stored any more
    else await updateFile(transaction, id, ["claimed_until = 0"]);
    const file = await findFile(transaction, id);
    if (!file || file.state === "removed") return file;
    await mark(transaction, id, now + HANDOVER_MS);
    await sweepBy(transaction, now + HANDOVER_MS, userId);
    return file;
  },
);

/**
 * Adds the row of a file that the bucket did not delete and that has no row any more, so that the sweep deletes it. Its name
 * takes no space.
 */
export const addRemoved = operation(
  "files/bury",
  async (
    transaction,
    {
      id,
      userId,
      uploadId,
    }: { readonly id: string; readonly userId: string; readonly uploadId: string | null },
  ): Promise<void> => {
    const { key, now, query } = transaction;
    await addUser(transaction);
    await query(
      `INSERT INTO files (key, id, state, bytes, counted, received, type, is_copy, upload_id, claim, claimed_until, due_at,
        removals) VALUES (?, ?, 'removed', 0, 0, 0, '', 0, ?, '', 0, ?, 0) ON CONFLICT (key, id) DO NOTHING`,
      ...[key, id, uploadId, now + HANDOVER_MS],
    );
    await sweepBy(transaction, now + HANDOVER_MS, userId);
  },
);

/** Marks files whose time is over, and returns them with those that are still to be deleted, each with its state before. */
export const findDue = operation(
  "files/due",
  async (transaction, { userId }: UserInput): Promise<readonly FileRow[]> => {
    const { key, now, query } = transaction;
    const files = await selectFiles(transaction, "due_at <= ? ORDER BY due_at LIMIT ?", now, BATCH);
    for (const { id, state, dueAt } of files) if (state !== "removed") await mark(transaction, id, dueAt);
    await query(
      `DELETE FROM file_copies WHERE key = ? AND source IN
      (SELECT source FROM file_copies WHERE key = ? AND forget_at <= ? ORDER BY forget_at LIMIT ?)`,
      ...[key, key, now, BATCH],
    );
    const [waiting] = await query<{ at: number | null }>(NEXT_COPY, key);
    if ((waiting?.at ?? NEVER) <= now - LOST_COPY_MS)
      await transaction.schedule(COPY, { id: "", at: now, input: { userId } });
    return files;
  },
);

const NEXT_COPY = "SELECT MIN(next_at) AS at FROM file_copies WHERE key = ?";

/** The end of a step of deletion. */
export type Deleted = {
  readonly userId: string;
  readonly gone: readonly string[];
  /** The files that the bucket did not delete. */
  readonly left: readonly string[];
  /** Milliseconds for which the time of an erasure is stored: what began before it has ended by then. */
  readonly storesMs: number;
};

/** Ends the rows of deleted files, gives their space back, and schedules the next step. Returns the rows that are left. */
export const endRemoval = operation(
  "files/gone",
  async (transaction, input: Deleted): Promise<readonly FileRow[]> => {
    const { now } = transaction;
    for (const id of input.gone) await endFile(transaction, id);
    const left: FileRow[] = [];
    for (const id of input.left) {
      const file = await findFile(transaction, id);
      // a repeated input finds the row postponed
      if (file?.state !== "removed" || file.dueAt > now + HANDOVER_MS) continue;
      const dueAt = now + Math.min(RETRY_MS * 2 ** file.removals, MAX_RETRY_MS);
      const postponed = await updateFile(transaction, id, ["removals = removals + 1, due_at = ?", dueAt]);
      if (postponed) left.push(postponed);
    }
    await scheduleSweep(transaction, input);
    return left;
  },
);

/** Deletes the row of a file. While a request may still store it, the row stays without bytes, and is deleted once more. */
async function endFile(transaction: Transaction, id: string): Promise<void> {
  const { key, now, query } = transaction;
  const file = await findFile(transaction, id);
  if (file?.state !== "removed") return;
  if (file.claimedUntil > now)
    await updateFile(transaction, id, ["counted = 0, removals = 0, due_at = ?", file.claimedUntil]);
  else await query("DELETE FROM files WHERE key = ? AND id = ?", key, id);
  await query("DELETE FROM file_parts WHERE key = ? AND id = ?", key, id);
  if (file.counted > 0)
    await query(
      "UPDATE file_users SET files = files - 1, bytes = bytes - ? WHERE key = ?",
      file.counted,
      key,
    );
}

/** Schedules the sweep for the next row that is due. A user without rows has no timer and no sums. */
async function scheduleSweep(transaction: Transaction, { userId, storesMs }: Deleted): Promise<void> {
  const { key, now, query } = transaction;
  const [[file], [over], [waiting], [user]] = await Promise.all([
    query<{ at: number | null }>("SELECT MIN(due_at) AS at FROM files WHERE key = ?", key),
    query<{ at: number | null }>("SELECT MIN(forget_at) AS at FROM file_copies WHERE key = ?", key),
    query<{ at: number | null }>(NEXT_COPY, key),
    query<{ erasedAt: number; copies: number }>(
      'SELECT erased_at AS "erasedAt", copies FROM file_users WHERE key = ?',
      key,
    ),
  ]);
  if (!user) return;
  const erasedUntil = user.erasedAt + storesMs;
  const nextCopy = waiting?.at ?? NEVER;
  const lostAt = (nextCopy > now - LOST_COPY_MS ? nextCopy : now) + LOST_COPY_MS;
  const ends = [file?.at ?? NEVER, over?.at ?? NEVER, erasedUntil > now ? erasedUntil : NEVER];
  const at = Math.min(...ends, lostAt);
  await query("UPDATE file_users SET sweep_at = ? WHERE key = ?", at, key);
  if (at < NEVER) return await transaction.schedule(SWEEP, { id: "", at, input: { userId } });
  await transaction.cancel(SWEEP, "");
  if (user.copies === 0) await query("DELETE FROM file_users WHERE key = ?", key);
}

/** A page of an erasure. */
export interface Erased {
  /** The id behind which the next page begins; undefined after the last one. */
  readonly next: string | undefined;
}

/** Marks a page of a user's files, and deletes results that wait to be copied. What began before now stores nothing any more. */
export const eraseFiles = operation(
  "files/erase",
  async (
    transaction,
    { after, userId }: { readonly after: string; readonly userId: string },
  ): Promise<Erased> => {
    const { key, now, query } = transaction;
    await addUser(transaction);
    const copies = await query<{ nextAt: number | null }>(
      `DELETE FROM file_copies WHERE key = ? AND source IN (SELECT source FROM file_copies WHERE key = ? LIMIT ?)
        RETURNING next_at AS "nextAt"`,
      ...[key, key, ERASED],
    );
    const waiting = copies.filter(({ nextAt }) => nextAt !== null).length;
    // later than each earlier time, also after the clock was set back
    await query(
      `UPDATE file_users SET erased_at = CASE WHEN erased_at < ? THEN ? ELSE erased_at + 1 END, copies = copies - ?
        WHERE key = ?`,
      ...[now, now, waiting, key],
    );
    const files = await selectFiles(transaction, "id > ? ORDER BY id LIMIT ?", after, ERASED);
    for (const { id, state, counted } of files)
      if (state !== "removed" || counted > 0) await mark(transaction, id, now);
    await sweepBy(transaction, now + HANDOVER_MS, userId);
    const isMore = files.length === ERASED || copies.length === ERASED;
    return { next: isMore ? (files.at(-1)?.id ?? after) : undefined };
  },
);

async function mark(transaction: Transaction, id: string, at: number): Promise<void> {
  await updateFile(transaction, id, ["state = 'removed', source = NULL, due_at = ?", at]);
}
