import { operation } from "../../host/define.js";
import { type FileRow, findFile, scheduleSweep, updateFile } from "./tables.js";

const IS_OPEN = " AND state = 'open'";

/** A request to store the part at an offset. */
export type ClaimInput = {
  readonly id: string;
  readonly from: number;
  /** Unique id of the request. */
  readonly claim: string;
  /**
   * Lifetime of the claim, in milliseconds. After it, other requests can send the part if this sender has disconnected.
   */
  readonly ms: number;
};

/** The file. `isClaimed` is true if the request may store its part. */
export interface Claimed {
  readonly file?: FileRow | undefined;
  readonly isClaimed: boolean;
}

/**
 * Claims the next part of an upload. One request at a time stores a part, so that the bucket never holds more bytes
 * than the rows count.
 */
export const claimPart = operation(
  "files/claim",
  async (transaction, { id, from, claim, ms }: ClaimInput): Promise<Claimed> => {
    const { now } = transaction;
    const file = await findFile(transaction, id);
    if (!file || file.state === "removed" || file.dueAt <= now) return { isClaimed: false };
    const isFree = file.claimedUntil <= now || file.claim === claim;
    if (file.state !== "open" || file.received !== from || file.uploadId === null || !isFree)
      return { file, isClaimed: false };
    const claimed = await updateFile(transaction, id, ["claim = ?, claimed_until = ?", claim, now + ms]);
    return { file: claimed, isClaimed: true };
  },
);

/** Releases a claim whose part was not stored. */
export const releaseClaim = operation(
  "files/unclaim",
  async (transaction, { id, claim }: { readonly id: string; readonly claim: string }): Promise<void> => {
    const file = await findFile(transaction, id);
    if (file?.claim === claim) await updateFile(transaction, id, ["claimed_until = 0"], IS_OPEN);
  },
);

/** Stores the id of the multipart upload before its first part, so that the upload can always be found and aborted. */
export const beginUpload = operation(
  "files/begin",
  (
    transaction,
    { id, type, uploadId }: { readonly id: string; readonly type: string; readonly uploadId: string },
  ) => updateFile(transaction, id, ["upload_id = ?, type = ?", uploadId, type], IS_OPEN),
);

/** A part that the bucket has stored. */
export type NewPart = {
  readonly id: string;
  readonly userId: string;
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
    if (file?.state !== "open") return file?.state === "whole" ? file : undefined;
    if (file.claim !== claim || file.received !== from) return file;
    await query(
      `INSERT INTO file_parts (key, id, number, etag) VALUES (?, ?, ?, ?)
      ON CONFLICT (key, id, number) DO UPDATE SET etag = excluded.etag`,
      ...[key, id, part.number, part.etag],
    );
    // the claim of the last part stays valid until the upload is complete
    const claimedUntil = to === file.bytes ? file.claimedUntil : 0;
    const change = "received = ?, due_at = ?, claimed_until = ?";
    const added = await updateFile(transaction, id, [change, to, now + part.ttlMs, claimedUntil]);
    await scheduleSweep(transaction, part.userId);
    return added;
  },
);

/** A complete file in the bucket. */
export type WholeFile = {
  readonly id: string;
  readonly userId: string;
  readonly type: string;
  readonly retentionMs: number;
};

/** Completes the row of a file. Returns undefined if the file was removed in the meantime. */
export const completeFile = operation(
  "files/whole",
  async (transaction, { id, userId, type, retentionMs }: WholeFile): Promise<FileRow | undefined> => {
    const { key, now, query } = transaction;
    const file = await findFile(transaction, id);
    if (file?.state !== "open") return file?.state === "whole" ? file : undefined;
    const change =
      "state = 'whole', type = ?, received = bytes, upload_id = NULL, claimed_until = 0, due_at = ?";
    const whole = await updateFile(transaction, id, [change, type, now + retentionMs]);
    await query("DELETE FROM file_parts WHERE key = ? AND id = ?", key, id);
    // a sweep that comes too early schedules the next one
    if (now + retentionMs < file.dueAt) await scheduleSweep(transaction, userId);
    return whole;
  },
);
