import { operation } from "../../host/define.js";
import { refuseFile } from "./refusals.js";
import type { UserFiles } from "./store.js";
import {
  addUser,
  type FileRow,
  findFile,
  scheduleSweep,
  selectCopies,
  selectFiles,
  updateFile,
} from "./tables.js";

/** A file to reserve space for. */
export type NewFile = {
  readonly id: string;
  readonly userId: string;
  readonly bytes: number;
  readonly type: string;
  /** Hash that identifies the gateway's file; null for an upload. */
  readonly source: string | null;
  readonly taskId: string | null;
  /** Unique id of the request or attempt that stores the file. */
  readonly claim: string;
  /** Time to store the file, in milliseconds. After it, the space is free again. */
  readonly holdMs: number;
  readonly maxBytes: number;
  readonly maxFiles: number;
};

/** The row of a file, or the limit that the file would exceed. Neither is set if the file was removed. */
export interface Reserved {
  readonly file?: FileRow;
  readonly full?: "bytes" | "files" | undefined;
}

/**
 * Reserves the whole size of a file in its user's space, with one conditional update. Returns the existing row if the
 * user has a copy of the same source.
 */
export const reserveSpace = operation(
  "files/reserve",
  async (transaction, input: NewFile): Promise<Reserved> => {
    const { key, now, query } = transaction;
    const { id, source, bytes, maxBytes, maxFiles } = input;
    const known = (await findFile(transaction, id)) ?? (await findCopy());
    if (known) return { file: known };
    // the user was erased, or deleted the copy
    if (source !== null && !(await isWaiting(source))) return {};
    await addUser(transaction);
    const [counted] = await query(
      `UPDATE file_users SET files = files + 1, bytes = bytes + ?
      WHERE key = ? AND files < ? AND bytes + ? <= ? RETURNING key`,
      ...[bytes, key, maxFiles, bytes, maxBytes],
    );
    if (!counted) return { full: await findBound() };
    const dueAt = now + input.holdMs;
    await query(
      `INSERT INTO files (key, id, state, bytes, counted, received, type, is_copy, source, task_id, upload_id, claim,
      claimed_until, due_at, removals) VALUES (?, ?, 'open', ?, ?, 0, ?, ?, ?, ?, NULL, ?, ?, ?, 0)`,
      ...[key, id, bytes, bytes, input.type, source === null ? 0 : 1],
      ...[source, input.taskId, input.claim, dueAt, dueAt],
    );
    await scheduleSweep(transaction, input.userId);
    return { file: (await findFile(transaction, id)) as FileRow };

    async function isWaiting(source: string): Promise<boolean> {
      const [copy] = await selectCopies(transaction, "source = ? AND url <> ''", source);
      return copy !== undefined;
    }

    async function findCopy(): Promise<FileRow | undefined> {
      if (source === null) return undefined;
      const [copy] = await selectFiles(transaction, "source = ?", source);
      if (!copy || copy.dueAt > now) return copy;
      // an expired copy is about to be deleted: do not reuse it
      await updateFile(transaction, copy.id, ["source = NULL"]);
      return undefined;
    }

    async function findBound(): Promise<Reserved["full"]> {
      const [sums] = await query<{ files: number }>("SELECT files FROM file_users WHERE key = ?", key);
      return Number(sums?.files) >= maxFiles ? "files" : "bytes";
    }
  },
);

/** New size of a file of unknown final size. */
export type Growth = { readonly id: string; readonly bytes: number; readonly maxBytes: number };

/** Raises the reserved size of a file, with one conditional update. */
export const growFile = operation("files/grow", async (transaction, input: Growth): Promise<Reserved> => {
  const { key, query } = transaction;
  const { id, bytes, maxBytes } = input;
  const file = await findFile(transaction, id);
  if (file?.state !== "open") return {};
  const more = bytes - file.bytes;
  if (more > 0) {
    const [counted] = await query(
      "UPDATE file_users SET bytes = bytes + ? WHERE key = ? AND bytes + ? <= ? RETURNING key",
      ...[more, key, more, maxBytes],
    );
    if (!counted) return { full: "bytes" };
    await updateFile(transaction, id, ["bytes = ?, counted = ?", bytes, bytes]);
  }
  return { file: { ...file, bytes } };
});

/**
 * Reserves the space of a file: its whole size in its user's space, and its first bytes in the space of all users. The
 * reservation expires unless the file is completed.
 *
 * @param firstBytes number of bytes to store first
 * @returns the row; the existing row if the user has a copy of the same source
 * @throws {Refusal} 413 if the user's space is full, 503 if the space of all users is full, 404 for a deleted copy
 */
export async function reserve(
  files: UserFiles,
  file: Omit<NewFile, "userId" | "maxBytes" | "maxFiles">,
  firstBytes: number,
): Promise<FileRow> {
  const { userId, settings } = files;
  const { maxBytesPerUser: maxBytes, maxFilesPerUser: maxFiles } = settings;
  const row = checkSpace(await files.run(reserveSpace, { ...file, userId, maxBytes, maxFiles }), settings);
  if (row.id !== file.id) return row;
  try {
    await files.hold(row, firstBytes);
  } catch (error) {
    await files.abandon(row.id);
    throw error;
  }
  return row;
}

/**
 * Raises the reserved size of a file, before the next part of a file of unknown size is stored.
 *
 * @throws {Refusal} as {@link reserve}
 */
export async function growSpace(files: UserFiles, file: Pick<Growth, "id" | "bytes">): Promise<FileRow> {
  const { settings } = files;
  const row = checkSpace(
    await files.run(growFile, { ...file, maxBytes: settings.maxBytesPerUser }),
    settings,
  );
  await files.hold(row, file.bytes);
  return row;
}

/** @throws {Refusal} 413 if the user's space is full, 404 for a removed file or an erased user */
function checkSpace(
  { file, full }: Reserved,
  { maxBytesPerUser, maxFilesPerUser }: UserFiles["settings"],
): FileRow {
  if (file && file.state !== "removed") return file;
  if (full === "files") throw refuseFile("too_many_files", { what: maxFilesPerUser });
  if (full === "bytes") throw refuseFile("storage_full", { what: maxBytesPerUser });
  throw refuseFile("file_not_found");
}
