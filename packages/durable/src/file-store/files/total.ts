import type { Transaction, Value } from "@sluice/worker-proxy";
import { operation } from "../../host/define.js";

/** Number of expired rows that a reservation deletes. */
const EXPIRED = 100;

/** Space that a file holds among all users. */
export type Hold = {
  readonly id: string;
  /** Bytes to hold: bytes in the bucket, plus the next part. */
  readonly bytes: number;
  /** Whole size of the file, in bytes. It must also fit, but is not held. */
  readonly wholeBytes: number;
  readonly isCopy: boolean;
  /** Time until the space is freed automatically, in milliseconds. */
  readonly endsInMs: number;
  readonly maxBytes: number;
  /** Maximum part of `maxBytes` for uploads; the rest is for copies. */
  readonly maxUploadBytes: number;
};

/**
 * Reserves space among all users, with one conditional update. An upload holds its stored bytes and its next part, so
 * that an upload with a large announced size and no bytes blocks no space. Returns false if the space is full.
 */
export const holdSpace = operation("files/hold", async (transaction, hold: Hold): Promise<boolean> => {
  const { key, now, query } = transaction;
  await query(
    "INSERT INTO file_totals (key, bytes, upload_bytes) VALUES (?, 0, 0) ON CONFLICT (key) DO NOTHING",
    key,
  );
  // release expired holds, which should have been released long ago
  await release(
    transaction,
    "id IN (SELECT id FROM file_holds WHERE key = ? AND ends_at <= ? LIMIT ?)",
    ...[key, now, EXPIRED],
  );
  const [known] = await query<{ bytes: number }>(
    "SELECT bytes FROM file_holds WHERE key = ? AND id = ?",
    ...[key, hold.id],
  );
  const held = known?.bytes ?? 0;
  const bytes = Math.max(held, hold.bytes);
  if (bytes > held && !(await addToSums(transaction, hold, held))) return false;
  await query(
    `INSERT INTO file_holds (key, id, bytes, upload_bytes, ends_at) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (key, id) DO UPDATE SET bytes = excluded.bytes, upload_bytes = excluded.upload_bytes,
        ends_at = excluded.ends_at`,
    ...[key, hold.id, bytes, hold.isCopy ? 0 : bytes, now + hold.endsInMs],
  );
  return true;
});

async function addToSums({ key, query }: Transaction, hold: Hold, held: number): Promise<boolean> {
  const more = hold.bytes - held;
  const rest = Math.max(hold.bytes, hold.wholeBytes) - held;
  // copies have only the limit of all users
  const [moreUploaded, restUploaded] = hold.isCopy ? [0, 0] : [more, rest];
  const maxUploadBytes = hold.isCopy ? Number.MAX_SAFE_INTEGER : hold.maxUploadBytes;
  const [row] = await query(
    `UPDATE file_totals SET bytes = bytes + ?, upload_bytes = upload_bytes + ?
      WHERE key = ? AND bytes + ? <= ? AND upload_bytes + ? <= ? RETURNING key`,
    ...[more, moreUploaded, key, rest, hold.maxBytes, restUploaded, maxUploadBytes],
  );
  return row !== undefined;
}

/** Frees the space of files that the bucket has deleted. */
export const releaseSpace = operation(
  "files/release-space",
  async (transaction, { ids }: { readonly ids: readonly string[] }): Promise<void> => {
    for (const id of ids) await release(transaction, "id = ?", id);
  },
);

async function release({ key, query }: Transaction, where: string, ...values: readonly Value[]) {
  const released = await query<{ bytes: number; uploadBytes: number }>(
    `DELETE FROM file_holds WHERE key = ? AND ${where} RETURNING bytes, upload_bytes AS "uploadBytes"`,
    ...[key, ...values],
  );
  if (released.length === 0) return;
  const sum = (name: "bytes" | "uploadBytes") => released.reduce((all, { [name]: bytes }) => all + bytes, 0);
  await query(
    "UPDATE file_totals SET bytes = bytes - ?, upload_bytes = upload_bytes - ? WHERE key = ?",
    ...[sum("bytes"), sum("uploadBytes"), key],
  );
}
