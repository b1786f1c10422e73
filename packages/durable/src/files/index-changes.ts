import type { ObjectSQL } from "../objects/object.js";
import type { UploadedPart } from "./bucket.js";
import type { FileRow, IndexAnswer, IndexRequest } from "./file-rows.js";
import { BATCH, type openRemoval } from "./index-removal.js";
import { MARGIN_MS, type MediaSettings, partMsOf } from "./options.js";

/**
 * Most files whose time is over that a request takes out of the count. An alarm, and a request without space, take out
 * more.
 */
const FEW = 5;

/** Opens the changes of single files of an index: a place for a new one, claims, parts, and the end of an upload. */
export function openChanges<Env>(
  sql: ObjectSQL,
  settings: MediaSettings<Env>,
  removal: ReturnType<typeof openRemoval<Env>>,
  wakeAt: (at: number) => Promise<void>,
) {
  const rows = (query: string, ...values: unknown[]) =>
    sql.exec(query, ...values).toArray() as unknown as FileRow[];
  return { open, change };

  /** Reserves the space of a new file. */
  async function open(request: IndexRequest & { do: "open" }): Promise<IndexAnswer> {
    const { file, isCopy, isCount } = request;
    const now = Date.now();
    const source = file.source ?? null;
    // an earlier copy that is about to be deleted can't serve as the new one
    sql.exec("UPDATE files SET source = NULL WHERE source = ? AND expiresAt <= ?", source, now);
    const [known] = source === null ? [] : rows("SELECT * FROM files WHERE source = ?", source);
    if (known) return { file: known };
    removal.stopCounting(now, FEW);
    if (fullness(request)) removal.stopCounting(now, BATCH);
    const full = fullness(request);
    if (full) return { full };
    sql.exec(
      `INSERT INTO files
        (id, bytes, type, expiresAt, received, isWhole, claimed, parts, source, isCount, isCopy, userId)
        VALUES (?, ?, ?, ?, 0, 0, 1, '[]', ?, ?, ?, ?)`,
      file.id,
      file.bytes,
      file.type,
      file.expiresAt,
      source,
      isCount ? 1 : 0,
      isCopy ? 1 : 0,
      file.userId ?? null,
    );
    await wakeAt(file.expiresAt);
    return { file: rows("SELECT * FROM files WHERE id = ?", file.id)[0] };
  }

  /** Returns the bound that a file would pass. Files count until the bucket has deleted them. */
  function fullness({ file, isCopy, mostBytes, mostUploadBytes, mostFiles }: IndexRequest & { do: "open" }) {
    const [sums] = sql.exec("SELECT files, bytes, uploadBytes, erasedAt FROM sums").toArray();
    const { files, bytes, uploadBytes, erasedAt } = sums as Sums;
    if (file.startedAt !== undefined && file.startedAt < erasedAt) return "erased";
    if (files >= mostFiles) return "files";
    if (bytes + file.bytes > mostBytes) return "bytes";
    return !isCopy && uploadBytes + file.bytes > mostUploadBytes ? "bytes" : undefined;
  }

  /** Makes a change of one file. */
  async function change(file: FileRow, request: FileChange): Promise<IndexAnswer> {
    if (request.do === "claim") return claim(file, request.from);
    if (request.do === "begin")
      // the request that has begun it stores the first part
      sql.exec(
        "UPDATE files SET uploadId = ?, claimedUntil = expiresAt WHERE id = ?",
        request.uploadId,
        file.id,
      );
    if (request.do === "release")
      sql.exec("UPDATE files SET claimedUntil = 0 WHERE id = ? AND claimed = ?", file.id, request.claim);
    if (request.do === "whole") {
      const expiresAt = Date.now() + ((file.isCopy && settings.archive?.keepMs) || settings.keepMs);
      sql.exec(
        `UPDATE files SET isWhole = 1, received = bytes, uploadId = NULL, parts = '[]', userId = NULL, expiresAt = ?
          WHERE id = ?`,
        expiresAt,
        file.id,
      );
      await wakeAt(expiresAt);
    }
    if (request.do === "part" && request.from === file.received && request.claim === file.claimed)
      await addPart(file, request);
    return { file: request.do === "read" ? file : rows("SELECT * FROM files WHERE id = ?", file.id)[0] };
  }

  function claim(file: FileRow, from: number): IndexAnswer {
    const isFree = file.claimedUntil <= Date.now() && from === file.received && file.uploadId !== null;
    if (!isFree) return { file, isClaimed: false };
    // longer than the request may take: a claim whose sender is gone ends by itself
    const until = Date.now() + partMsOf(settings) + MARGIN_MS;
    const query = "UPDATE files SET claimed = claimed + 1, claimedUntil = ? WHERE id = ? RETURNING *";
    return { file: rows(query, until, file.id)[0], isClaimed: true };
  }

  async function addPart(file: FileRow, request: FileChange & { do: "part" }): Promise<void> {
    const parts = JSON.stringify([...(JSON.parse(file.parts) as UploadedPart[]), request.part]);
    const end = Date.now() + settings.unfinishedMs;
    sql.exec(
      "UPDATE files SET received = ?, uploadId = ?, parts = ?, expiresAt = ?, claimedUntil = ? WHERE id = ?",
      request.to,
      request.uploadId,
      parts,
      end,
      // the claim of the last part holds until the file is put together
      request.to === file.bytes ? file.claimedUntil : 0,
      file.id,
    );
    await wakeAt(end);
  }
}

/** The sums of an index that bound it. */
type Sums = Record<"files" | "bytes" | "uploadBytes" | "erasedAt", number>;

/** A request about one file that exists. */
export type FileChange = Extract<
  IndexRequest,
  { do: "read" | "claim" | "release" | "begin" | "part" | "whole" }
>;
