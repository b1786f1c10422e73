import { operation } from "@sluice/worker-proxy/plugin";
import {
  addToSums,
  createRow,
  type FileRow,
  findFile,
  insertFile,
  readOrAddSums,
  scheduleJobs,
  updateFile,
} from "./tables.js";

/** Space to reserve for a file in its user's space. */
export type SpaceReservation = {
  readonly id: string;
  readonly isCopy: boolean;
  /** Unique id of the request or attempt that stores the file. */
  readonly claim: string;
  /** Whole size, in bytes. The size of a copy can grow. */
  readonly bytes: number;
  /** Time to store the file, in milliseconds. After it, the space is free again. */
  readonly claimMs: number;
};

type Limits = { readonly userId: string; readonly maxBytes: number; readonly maxFiles: number };

/** The row of a file, or the limit that the file would exceed. Neither is set if the file was removed. */
interface Reserved {
  readonly file?: FileRow | undefined;
  readonly exceeded?: "bytes" | "files";
}

/** Reserves the whole size of a file in its user's space. */
export const reserve = operation(
  "files/reserve",
  async (transaction, input: SpaceReservation & Limits): Promise<Reserved> => {
    const { id, isCopy, claim, bytes } = input;
    const { now } = transaction;
    const file = await findFile(transaction, id);
    if (!isCopy && file) return { file };
    // the copy was deleted, or a later attempt has begun
    const isPending = file?.claim === claim && (file.state === "queued" || file.state === "open");
    if (isCopy && !isPending) return {};
    if (file?.state === "open" && file.bytes === bytes) return { file };
    const sums = await readOrAddSums(transaction, input.userId);
    const reserved = file?.bytes ?? 0;
    const growth = { files: reserved === 0 ? 1 : 0, bytes: bytes - reserved };
    if (sums.files + growth.files > input.maxFiles) return { exceeded: "files" };
    if (sums.bytes + growth.bytes > input.maxBytes) return { exceeded: "bytes" };
    await addToSums(transaction, growth);
    const until = now + input.claimMs;
    const open = { state: "open", bytes, claimedUntil: until, dueAt: until } as const;
    if (!file) await insertFile(transaction, { ...createRow(id, now), claim, ...open });
    else await updateFile(transaction, id, open);
    await scheduleJobs(transaction);
    return { file: await findFile(transaction, id) };
  },
);

/** A request to store the part at an offset. */
type ClaimInput = {
  readonly id: string;
  readonly from: number;
  /** Unique id of the request. */
  readonly claim: string;
  /** Lifetime of the claim, in milliseconds. After it, other requests can send the part. */
  readonly claimMs: number;
};

/**
 * Claims the next part of an upload. One request at a time stores a part, so that the bucket never holds more bytes
 * than the rows count. Returns the file, with the claim if it is free.
 */
export const claimPart = operation(
  "files/claim",
  async (transaction, { id, from, claim, claimMs }: ClaimInput): Promise<FileRow | undefined> => {
    const { now } = transaction;
    const file = await findFile(transaction, id);
    if (!file || file.dueAt <= now) return undefined;
    const isFree = file.claimedUntil <= now || file.claim === claim;
    if (file.state !== "open" || file.received !== from || file.uploadId === null || !isFree) return file;
    return await updateFile(transaction, id, { claim, claimedUntil: now + claimMs });
  },
);

/** Stores the id of the multipart upload before its first part, so that the upload can always be found and aborted. */
export const beginUpload = operation(
  "files/begin",
  async (
    transaction,
    { id, ...upload }: { readonly id: string; readonly type: string; readonly uploadId: string },
  ): Promise<FileRow | undefined> => {
    const file = await findFile(transaction, id);
    return file?.state === "open" ? await updateFile(transaction, id, upload) : undefined;
  },
);

type NewPart = {
  readonly id: string;
  readonly claim: string;
  readonly number: number;
  readonly etag: string;
  readonly from: number;
  readonly to: number;
  /** Time until the next part must be stored, in milliseconds. */
  readonly ttlMs: number;
};

/** Adds a part. Does nothing for a request that has lost its claim. */
export const addPart = operation(
  "files/part",
  async (transaction, part: NewPart): Promise<FileRow | undefined> => {
    const { key, now, query } = transaction;
    const { id, claim, from, to } = part;
    const file = await findFile(transaction, id);
    if (file?.state !== "open" || file.claim !== claim || file.received !== from) return file;
    await query(
      `INSERT INTO file_parts (key, id, number, etag) VALUES (?, ?, ?, ?)
      ON CONFLICT (key, id, number) DO UPDATE SET etag = excluded.etag`,
      ...[key, id, part.number, part.etag],
    );
    // the claim of the last part stays valid until the upload is complete
    const claimedUntil = to === file.bytes ? file.claimedUntil : 0;
    const added = await updateFile(transaction, id, { received: to, dueAt: now + part.ttlMs, claimedUntil });
    await scheduleJobs(transaction);
    return added;
  },
);

/** A complete file in the bucket. */
export type WholeFile = {
  readonly id: string;
  readonly claim: string;
  readonly type: string;
  readonly retentionMs: number;
};

/**
 * Completes the row of a file. Returns undefined for a file that was removed in the meantime, and for a copy whose
 * claim was lost.
 */
export const completeFile = operation(
  "files/whole",
  async (transaction, { id, claim, type, retentionMs }: WholeFile): Promise<FileRow | undefined> => {
    const { key, now, query } = transaction;
    const file = await findFile(transaction, id);
    if (file?.state === "whole") return file;
    if (file?.state !== "open" || (file.isCopy && file.claim !== claim)) return undefined;
    if (file.url !== null) await addToSums(transaction, { copies: -1 });
    const dueAt = now + retentionMs;
    const stored = { received: file.bytes, uploadId: null, url: null, claimedUntil: 0, dueAt };
    const whole = await updateFile(transaction, id, { state: "whole", type, ...stored });
    await query("DELETE FROM file_parts WHERE key = ? AND id = ?", key, id);
    // a sweep that comes too early schedules the next one
    if (dueAt < file.dueAt) await scheduleJobs(transaction);
    return whole;
  },
);
