import type { Transaction, Value } from "@sluice/worker-proxy/plugin";
import { operation } from "../../host/define.js";
import { refuseFile } from "./refusals.js";
import type { UserFiles } from "./store.js";
import {
  addToSums,
  type FileRow,
  findFile,
  insertFile,
  NO_BYTES,
  openSums,
  scheduleJobs,
  updateFile,
} from "./tables.js";

/** Space to reserve for a file in its user's space. */
export type Reservation = {
  readonly id: string;
  readonly isCopy: boolean;
  /** Unique id of the request or attempt that stores the file. */
  readonly claim: string;
  /** Whole size, in bytes. The size of a copy can grow. */
  readonly bytes: number;
  /** Time to store the file, in milliseconds. After it, the space is free again. */
  readonly ms: number;
};

type Limits = { readonly userId: string; readonly maxBytes: number; readonly maxFiles: number };

/** The row of a file, or the limit that the file would exceed. Neither is set if the file was removed. */
interface Reserved {
  readonly file?: FileRow | undefined;
  readonly full?: "bytes" | "files";
}

/** Reserves the whole size of a file in its user's space. */
export const reserve = operation(
  "files/reserve",
  async (transaction, input: Reservation & Limits): Promise<Reserved> => {
    const { id, isCopy, claim, bytes } = input;
    const { now } = transaction;
    const file = await findFile(transaction, id);
    if (!isCopy && file) return { file };
    // the copy was deleted, or a later attempt has begun
    const isPending = file?.claim === claim && (file.state === "queued" || file.state === "open");
    if (isCopy && !isPending) return {};
    if (file?.state === "open" && file.bytes === bytes) return { file };
    const sums = await openSums(transaction, input.userId);
    const known = file?.bytes ?? 0;
    const more = { files: known === 0 ? 1 : 0, bytes: bytes - known };
    if (sums.files + more.files > input.maxFiles) return { full: "files" };
    if (sums.bytes + more.bytes > input.maxBytes) return { full: "bytes" };
    await addToSums(transaction, more);
    const until = now + input.ms;
    const open = { state: "open", bytes, claimedUntil: until, dueAt: until } as const;
    if (!file) await insertFile(transaction, { ...createRow(id, now), claim, ...open });
    else await updateFile(transaction, id, open);
    await scheduleJobs(transaction);
    return { file: await findFile(transaction, id) };
  },
);

/** Creates the row of an upload without bytes. */
export function createRow(id: string, createdAt: number) {
  const none = { source: null, taskId: null, url: null } as const;
  return { id, ...NO_BYTES, type: "", isCopy: 0, ...none, attempts: 0, createdAt, retryAt: 0 } as const;
}

/**
 * Reserves the space of a file: its whole size in its user's space, and `bytes` in the space of all users. The
 * reservation expires unless the file is completed.
 *
 * @param bytes bytes in the bucket, plus the next part
 * @throws {Refusal} 413 if the user's space is full, 503 if the space of all users is full, 404 for a removed file
 */
export async function reserveSpace(
  files: UserFiles,
  reservation: Reservation,
  bytes: number,
): Promise<FileRow> {
  const { maxBytesPerUser: maxBytes, maxFilesPerUser: maxFiles } = files.settings;
  const input = { ...reservation, userId: files.userId, maxBytes, maxFiles };
  const { file, full } = await files.run(reserve, input);
  if (full === "files") throw refuseFile("too_many_files", { what: maxFiles });
  if (full === "bytes") throw refuseFile("storage_full", { what: maxBytes });
  if (!file) throw refuseFile("file_not_found");
  if (bytes > 0) await files.hold(file, bytes);
  return file;
}

/** Number of expired rows that a reservation deletes. */
const EXPIRED = 100;

/** Space that a file holds among all users. */
type Hold = {
  readonly id: string;
  /** Bytes to hold: bytes in the bucket, plus the next part. */
  readonly bytes: number;
  /** Whole size of the file, in bytes. It must also fit, but is not held. */
  readonly wholeBytes: number;
  /** Time until the space is freed automatically, in milliseconds. */
  readonly ms: number;
  readonly maxBytes: number;
};

/**
 * Reserves space among all users. An upload holds its stored bytes and its next part, so that an upload with a large
 * announced size and no bytes blocks no space. Returns false if the space is full.
 */
export const holdSpace = operation("files/hold", async (transaction, hold: Hold): Promise<boolean> => {
  const { key, now, query } = transaction;
  // expired holds should have been released long ago
  const expired = "id IN (SELECT id FROM file_holds WHERE key = ? AND ends_at <= ? LIMIT ?)";
  await release(transaction, expired, key, now, EXPIRED);
  const [known] = await query<{ bytes: number }>(
    "SELECT bytes FROM file_holds WHERE key = ? AND id = ?",
    ...[key, hold.id],
  );
  const [total] = await query<{ bytes: number }>("SELECT bytes FROM file_totals WHERE key = ?", key);
  const held = known?.bytes ?? 0;
  const bytes = Math.max(held, hold.bytes);
  if (bytes > held) {
    const others = (total?.bytes ?? 0) - held;
    if (others + Math.max(bytes, hold.wholeBytes) > hold.maxBytes) return false;
    await query(
      `INSERT INTO file_totals (key, bytes) VALUES (?, ?)
        ON CONFLICT (key) DO UPDATE SET bytes = excluded.bytes`,
      ...[key, others + bytes],
    );
  }
  await query(
    `INSERT INTO file_holds (key, id, bytes, ends_at) VALUES (?, ?, ?, ?)
      ON CONFLICT (key, id) DO UPDATE SET bytes = excluded.bytes, ends_at = excluded.ends_at`,
    ...[key, hold.id, bytes, now + hold.ms],
  );
  return true;
});

/** Frees the space of files that the bucket has deleted. */
export const releaseSpace = operation(
  "files/release-space",
  async (transaction, { ids }: { readonly ids: readonly string[] }): Promise<void> => {
    for (const id of ids) await release(transaction, "id = ?", id);
  },
);

async function release({ key, query }: Transaction, where: string, ...values: readonly Value[]) {
  const sql = `DELETE FROM file_holds WHERE key = ? AND ${where} RETURNING bytes`;
  const released = await query<{ bytes: number }>(sql, key, ...values);
  const sum = released.reduce((all, { bytes }) => all + bytes, 0);
  if (sum > 0) await query("UPDATE file_totals SET bytes = bytes - ? WHERE key = ?", sum, key);
}
