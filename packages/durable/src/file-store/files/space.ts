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
 * Reserves the whole size of a file in its user's space. The reservation expires unless the file is completed.
 *
 * @throws {Refusal} 413 if the user's space is full, 404 for a removed file
 */
export async function reserveSpace(files: UserFiles, reservation: Reservation): Promise<FileRow> {
  const { maxBytesPerUser: maxBytes, maxFilesPerUser: maxFiles } = files.settings;
  const input = { ...reservation, userId: files.userId, maxBytes, maxFiles };
  const { file, full } = await files.run(reserve, input);
  if (full === "files") throw refuseFile("too_many_files", { what: maxFiles });
  if (full === "bytes") throw refuseFile("storage_full", { what: maxBytes });
  if (!file) throw refuseFile("file_not_found");
  return file;
}
