import type { ObjectSQL } from "../durable/platform.js";
import { notifyOf } from "../job-event.js";
import { readBinding } from "../refusal.js";
import { removeFiles } from "./bucket.js";
import type { FileRow } from "./file-rows.js";
import { MARGIN_MS, type MediaSettings } from "./options.js";
import { openSpace } from "./space.js";

/** Most rows that one step deletes: R2 deletes up to 1,000 files in one call. */
export const BATCH = 500;

/**
 * Opens the deletion of the files of an index. A file that is to be deleted keeps a row without bytes until the bucket has
 * deleted it; where a request may still be storing it, until that has ended, so that it is deleted once more.
 */
export function openRemoval<Env>(sql: ObjectSQL, settings: MediaSettings<Env>, env: Env) {
  const { bodyMs, archive } = settings;
  const storesMs = Math.max(bodyMs, archive?.copyMs ?? 0) + MARGIN_MS;
  const rows = (query: string, ...values: unknown[]) =>
    sql.exec(query, ...values).toArray() as unknown as FileRow[];
  return { remove, bury, removeOld, stopCounting, erase, storesMs };

  function remove(ids: readonly string[]): void {
    for (const id of ids) sql.exec("DELETE FROM files WHERE id = ?", id);
  }

  /**
   * Takes the space of a file back at once, and keeps its name until an alarm deletes it.
   *
   * @param at the time of that
   * @param storedUntil the time until which a request may store it
   */
  function bury({ id, uploadId }: Pick<FileRow, "id" | "uploadId">, at: number, storedUntil: number): void {
    remove([id]);
    sql.exec(
      `INSERT INTO files (id, bytes, type, expiresAt, received, isWhole, claimed, uploadId, parts, isCount, claimedUntil)
        VALUES (?, 0, '', ?, 0, 0, 0, ?, '[]', 0, ?)`,
      id,
      at,
      uploadId,
      storedUntil,
    );
  }

  /** Deletes files whose time is over from the bucket. Returns how many there were. */
  async function removeOld(now: number): Promise<number> {
    const old = rows("SELECT * FROM files WHERE expiresAt <= ? AND isCount = 0 LIMIT ?", now, BATCH);
    if (old.length === 0) return 0;
    await removeFiles(settings.bucket(env), old);
    const ids = old.map(({ id }) => id);
    const { forget } = openSpace(await readBinding("mediaStore: index", settings.index, env), settings);
    await forget(ids);
    for (const file of old) {
      if (file.bytes === 0 && file.claimedUntil > now)
        sql.exec("UPDATE files SET expiresAt = claimedUntil WHERE id = ?", file.id);
      else remove([file.id]);
      if (file.bytes > 0 && !file.isWhole && !file.isCopy) reportUnfinished(file);
    }
    return old.length;
  }

  function reportUnfinished({ id, bytes, userId }: FileRow): void {
    const event = { kind: "upload", outcome: "dropped", code: "upload_unfinished", id, bytes } as const;
    notifyOf(settings.onEvent, { ...event, user: userId ?? undefined }, env);
  }

  /** Stops counting files whose own index should have deleted them long ago. Returns how many there were. */
  function stopCounting(now: number, most: number): void {
    const old = rows("SELECT id FROM files WHERE expiresAt <= ? AND isCount = 1 LIMIT ?", now, most);
    remove(old.map(({ id }) => id));
  }

  /** Buries files of a user that is erased, and notes the time: what began before stores nothing any more. Returns how many there were. */
  function erase(now: number): number {
    sql.exec("UPDATE sums SET erasedAt = ?", now);
    const files = rows("SELECT * FROM files WHERE bytes > 0 LIMIT ?", BATCH);
    for (const file of files) bury(file, now, file.isWhole ? 0 : now + storesMs);
    return files.length;
  }
}
