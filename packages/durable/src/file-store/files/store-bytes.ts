import type { FileBody } from "./file-body.js";
import { ATTEMPT_MS, PART_BYTES, UPLOAD_TTL_MS } from "./options.js";
import { callStorage, refuseFile } from "./refusals.js";
import { endAttempt } from "./removal.js";
import { checkFound, toBucketKey, type UserFiles } from "./store.js";
import {
  addPart,
  beginUpload,
  completeFile,
  reserve,
  type SpaceReservation,
  type WholeFile,
} from "./storing-operations.js";
import { type FileRow, readFile, readParts } from "./tables.js";

/** Reserves space, and stores the first bytes of an upload. Frees the space if this fails. */
export async function storeFile(
  files: UserFiles,
  body: FileBody,
  { id, bytes }: Pick<FileRow, "id" | "bytes">,
  readType: () => Promise<string>,
): Promise<FileRow> {
  const claim = crypto.randomUUID();
  return await endClaimOnError(files, { id, claim }, async () => {
    // reserve the space before reading the body, so that an erasure finds the row
    const space = { id, claim, bytes, isCopy: false, claimMs: ATTEMPT_MS };
    const row = await reserveSpace(files, space);
    const type = await readType();
    if (bytes > body.length)
      return await storePart(files, body, { ...row, uploadId: await beginMultipart(files, id, type) });
    const options = { httpMetadata: { contentType: type } };
    await body.streamTo((content) => files.bucket.put(toBucketKey(id), content, options));
    return await finishFile(files, { id, claim, type, retentionMs: files.settings.retentionMs });
  });
}

/** Runs the work of a claim, and ends the claim if the work fails. */
export async function endClaimOnError<T>(
  files: UserFiles,
  { id, claim }: Pick<FileRow, "id" | "claim">,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    // if this fails too, the sweep ends the claim
    await files
      .run(endAttempt, { id, claim })
      .then(files.remove)
      .catch(() => {});
    throw error;
  }
}

/** Begins a multipart upload, and stores its id before the first part. @throws {Refusal} 404 for a removed file */
export async function beginMultipart({ bucket, run }: UserFiles, id: string, type: string): Promise<string> {
  const options = { httpMetadata: { contentType: type } };
  const { uploadId } = await callStorage(() => bucket.createMultipartUpload(toBucketKey(id), options));
  checkFound(await run(beginUpload, { id, type, uploadId }));
  return uploadId;
}

/** Stores the part that a request has claimed. */
export async function storePart(
  files: UserFiles,
  body: FileBody,
  { id, received: from, claim, uploadId, bytes }: FileRow,
): Promise<FileRow> {
  const to = Math.min(bytes, from + PART_BYTES);
  if (body.length !== to - from) throw refuseFile("part_size", { what: to - from });
  const upload = files.bucket.resumeMultipartUpload(toBucketKey(id), uploadId as string);
  // if the part is stored without a row, the next attempt replaces it
  const number = from / PART_BYTES + 1;
  const { etag } = await body.streamTo((content) =>
    upload.uploadPart(number, content).catch((error: unknown) => throwUploadError(files, id, error)),
  );
  return checkFound(await files.run(addPart, { id, claim, number, etag, from, to, ttlMs: UPLOAD_TTL_MS }));
}

/**
 * Combines the parts. If an earlier request combined them but ended before it stored the row, the file already exists.
 */
export async function joinParts(files: UserFiles, row: FileRow): Promise<FileRow> {
  const { id, claim, bytes, type, uploadId } = row;
  const parts = await files.run(readParts, { id });
  const upload = files.bucket.resumeMultipartUpload(toBucketKey(id), uploadId as string);
  await callStorage(async () => {
    try {
      await upload.complete([...parts]);
    } catch (error) {
      const file = await files.bucket.head(toBucketKey(id));
      if (file?.size !== bytes) await throwUploadError(files, id, error);
    }
  });
  return await finishFile(files, { id, claim, type, retentionMs: files.settings.retentionMs });
}

/** Completes the row of a file. @throws {Refusal} 404 for a file that was removed in the meantime */
export async function finishFile({ run }: UserFiles, file: WholeFile): Promise<FileRow> {
  return checkFound(await run(completeFile, file));
}

/** @throws {Refusal} 404 or 409 if the upload ended without this part; otherwise the error of the bucket */
async function throwUploadError(files: UserFiles, id: string, error: unknown): Promise<never> {
  const row = await files.run(readFile, { id });
  if (row?.state === "whole") throw refuseFile("upload_offset", { what: row.received });
  throw row?.state === "open" ? error : refuseFile("file_not_found");
}

/**
 * Reserves the whole size of a file in its user's space. The reservation expires unless the file is completed.
 *
 * @throws {Refusal} 413 if the user's space is full, 404 for a removed file
 */
export async function reserveSpace(files: UserFiles, reservation: SpaceReservation): Promise<FileRow> {
  const { maxBytesPerUser: maxBytes, maxFilesPerUser: maxFiles } = files.settings;
  const input = { ...reservation, userId: files.userId, maxBytes, maxFiles };
  const { file, exceeded } = await files.run(reserve, input);
  if (exceeded === "files") throw refuseFile("too_many_files", { what: maxFiles });
  if (exceeded === "bytes") throw refuseFile("storage_full", { what: maxBytes });
  if (!file) throw refuseFile("file_not_found");
  return file;
}
