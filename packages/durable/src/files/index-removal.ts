import type { JobEvent } from "@sluice/worker-proxy";
import { logError, notifyOf, readBinding } from "@sluice/worker-proxy/internal";
import type { ObjectSQL } from "../objects/object.js";
import { removeFiles } from "./bucket.js";
import type { FileRow } from "./file-rows.js";
import { MARGIN_MS, type MediaSettings } from "./options.js";
import { openSpace } from "./space.js";

/** Most rows that one step deletes: R2 deletes up to 1,000 files in one call. */
export const BATCH = 500;

/** Pause after a bucket that did not delete a file, and the longest one: each is twice as long as the one before. */
const RETRY_MS = 10 * 60_000;
const LONGEST_RETRY_MS = 86_400_000;

/**
 * Opens the deletion of the files of an index. A file that is to be deleted is marked, and counts until the bucket has
 * deleted it. Where a request may still be storing it, a row without bytes stays until that has ended, so that it is
 * deleted once more.
 */
export function openRemoval<Env>(sql: ObjectSQL, settings: MediaSettings<Env>, env: Env) {
  const { bodyMs, archive } = settings;
  const storesMs = Math.max(bodyMs, archive?.copyMs ?? 0) + MARGIN_MS;
  const rows = (query: string, ...values: unknown[]) =>
    sql.exec(query, ...values).toArray() as unknown as FileRow[];
  return { mark, remove, bury, end, removeOld, stopCounting, erase, storesMs };

  /**
   * Marks a file as one that is to be deleted.
   *
   * @param storedUntil the time until which a request may store it
   */
  function mark(id: string, at: number, storedUntil: number): void {
    const query =
      "UPDATE files SET isDropped = 1, source = NULL, expiresAt = ?, claimedUntil = ? WHERE id = ?";
    sql.exec(query, at, storedUntil, id);
  }

  function remove(ids: readonly string[]): void {
    for (const id of ids) sql.exec("DELETE FROM files WHERE id = ?", id);
  }

  /**
   * Keeps the name of a file that takes no space until an alarm deletes it.
   *
   * @param at the time of that
   * @param storedUntil the time until which a request may store it
   */
  function bury({ id, uploadId }: Pick<FileRow, "id" | "uploadId">, at: number, storedUntil: number): void {
    remove([id]);
    sql.exec(
      `INSERT INTO files
        (id, bytes, type, expiresAt, received, isWhole, claimed, uploadId, parts, isCount, claimedUntil, isDropped)
        VALUES (?, 0, '', ?, 0, 0, 0, ?, '[]', 0, ?, 1)`,
      id,
      at,
      uploadId,
      storedUntil,
    );
  }

  /** Takes a file out that the bucket has deleted. */
  function end({ id, uploadId, claimedUntil }: FileRow, now: number): void {
    if (claimedUntil > now) bury({ id, uploadId }, claimedUntil, claimedUntil);
    else remove([id]);
  }

  /**
   * Deletes files whose time is over from the bucket. Returns how many there were, and the error where the bucket did not
   * delete all of them.
   */
  async function removeOld(now: number): Promise<{ readonly count: number; readonly cause?: unknown }> {
    const old = rows("SELECT * FROM files WHERE expiresAt <= ? AND isCount = 0 LIMIT ?", now, BATCH);
    if (old.length === 0) return { count: 0 };
    const { left, cause } = await removeFiles(settings.bucket(env), old);
    const gone = old.filter((file) => !left.has(file));
    const { forget } = openSpace(await readBinding("mediaStore: index", settings.index, env), settings);
    await forget(gone.map(({ id }) => id));
    for (const file of gone) end(file, now);
    for (const file of left) postpone(file, now);
    if (left.size > 0)
      logError(`mediaStore: the bucket did not delete ${left.size} files; it is tried again`);
    const unfinished = old.filter(isOpen);
    for (const file of unfinished) report(file, { outcome: "dropped", code: "upload_unfinished" });
    return { count: old.length, cause };
  }

  /** Lets a file that the bucket did not delete wait for the next attempt. It counts until then. */
  function postpone(file: FileRow, now: number): void {
    const attempts = file.removals + 1;
    const nextAt = now + Math.min(RETRY_MS * 2 ** (attempts - 1), LONGEST_RETRY_MS);
    mark(file.id, nextAt, file.claimedUntil);
    sql.exec("UPDATE files SET removals = ? WHERE id = ?", attempts, file.id);
    report(file, { outcome: "waiting", code: "not_deleted", attempts, nextAt });
  }

  function report(
    { id, bytes, isCopy, userId }: FileRow,
    event: Partial<JobEvent> & Pick<JobEvent, "outcome">,
  ): void {
    const kind = isCopy ? "copy" : "upload";
    notifyOf(settings.onEvent, { kind, ...event, id, bytes, user: userId ?? undefined }, env);
  }

  /** Stops counting files whose own index should have deleted them long ago. Returns how many there were. */
  function stopCounting(now: number, most: number): void {
    const old = rows("SELECT id FROM files WHERE expiresAt <= ? AND isCount = 1 LIMIT ?", now, most);
    remove(old.map(({ id }) => id));
  }

  /**
   * Marks files of a user that is erased, and notes the time: what began before stores nothing any more. Returns how many
   * there were.
   */
  function erase(now: number): number {
    sql.exec("UPDATE sums SET erasedAt = ?", now);
    const query = `SELECT * FROM files WHERE isCount = 0 AND expiresAt > ? AND (bytes > 0 OR removals > 0) LIMIT ?`;
    const files = rows(query, now, BATCH);
    for (const { id, isWhole } of files) mark(id, now, isWhole ? 0 : now + storesMs);
    return files.length;
  }
}

/** Returns true for an upload that is not whole, and that nothing has ended yet. */
function isOpen({ isDropped, isWhole, isCopy }: FileRow): boolean {
  return !isDropped && !isWhole && !isCopy;
}
