import { refuseFile } from "./refusals.js";
import { type Growth, growFile, type NewFile, type Reserved, reserveSpace } from "./space.js";
import type { UserFiles } from "./store.js";
import type { FileRow } from "./tables.js";

/**
 * Reserves the space of a file: its whole size in the space of its user, and what is stored first among all users. Until it
 * is whole, the reservation ends by itself.
 *
 * @param firstBytes the bytes that are about to be stored
 * @returns the row; the row of an earlier copy where there is one of the same source
 * @throws {Refusal} 413 if the user has no space, 503 if all users together have none, 404 for a copy that was deleted
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
 * Reserves the space of a file up to a size, before a part is stored whose end is not known.
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

/** @throws {Refusal} 413 for a full space, 404 for a file that was removed or whose user was erased */
function checkSpace(
  { file, full }: Reserved,
  { maxBytesPerUser, maxFilesPerUser }: UserFiles["settings"],
): FileRow {
  if (file && file.state !== "removed") return file;
  if (full === "files") throw refuseFile("too_many_files", { what: maxFilesPerUser });
  if (full === "bytes") throw refuseFile("storage_full", { what: maxBytesPerUser });
  throw refuseFile("file_not_found");
}
