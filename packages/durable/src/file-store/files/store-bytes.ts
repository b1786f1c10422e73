import { limitTime } from "@sluice/worker-proxy/plugin";
import type { UploadedPart } from "../../buckets/bucket.js";
import { type FileBody, openUpload } from "./file-body.js";
import { MARGIN_MS, PART_BYTES, UPLOAD_MS, UPLOAD_TTL_MS } from "./options.js";
import { addPart, beginUpload, completeFile } from "./parts.js";
import { readFile, readParts } from "./readings.js";
import { callStorage, refuseFile } from "./refusals.js";
import { reserve } from "./space.js";
import { checkFound, toBucketKey, type UserFiles } from "./store.js";
import type { FileRow } from "./tables.js";

/** A new file of a request. */
type BegunFile = Pick<FileRow, "id" | "bytes">;

/**
 * Timeout of one part, in milliseconds: half the time of {@link UPLOAD_TTL_MS}, so that a failed part can be sent
 * again.
 */
export const PART_MS = UPLOAD_TTL_MS / 2;

/** Reserves space, and stores the first bytes of a file. Frees the space if this fails. */
export async function storeFile(
  files: UserFiles,
  body: FileBody,
  file: BegunFile,
  readType: () => Promise<string>,
): Promise<FileRow> {
  const claim = crypto.randomUUID();
  const holdMs = UPLOAD_MS + MARGIN_MS;
  const begun = { ...file, type: "", source: null, taskId: null, claim, holdMs };
  // reserve the space before reading the body, so that an erasure finds the row
  return await storeReserved(files, begun, body.length, async () => {
    const typed = { ...file, claim, type: await readType() };
    if (file.bytes === body.length) return await putWhole(files, body, typed, files.settings.retentionMs);
    return await putFirst(files, body, typed);
  });
}

/** Reserves space, and stores a file with `put`. Frees the space if `put` fails. */
export async function storeReserved(
  files: UserFiles,
  file: Parameters<typeof reserve>[1],
  firstBytes: number,
  put: () => Promise<FileRow>,
): Promise<FileRow> {
  const row = await reserve(files, file, firstBytes);
  if (row.id !== file.id) return row;
  try {
    return await put();
  } catch (error) {
    await files.discard(file.id);
    throw error;
  }
}

/** Stores a file in one piece. @throws {Refusal} 404 if it was removed in the meantime */
export async function putWhole(
  files: UserFiles,
  body: FileBody,
  { id, type }: Pick<FileRow, "id" | "type">,
  retentionMs: number,
): Promise<FileRow> {
  const options = { httpMetadata: { contentType: type } };
  await body.through((content) => files.bucket.put(toBucketKey(id), content, options));
  return await finishFile(files, id, type, retentionMs);
}

async function putFirst(
  files: UserFiles,
  body: FileBody,
  { id, type, claim }: Pick<FileRow, "id" | "type" | "claim">,
): Promise<FileRow> {
  const options = { httpMetadata: { contentType: type } };
  const upload = await callStorage(() => files.bucket.createMultipartUpload(toBucketKey(id), options));
  // store the id before the first part, so that the parts can always be found. R2 aborts an empty upload after 7 days
  checkFound(await files.run(beginUpload, { id, type, uploadId: upload.uploadId }));
  const { etag } = await body.through((content) => sendPart(files, id, () => upload.uploadPart(1, content)));
  const part = {
    id,
    userId: files.userId,
    claim,
    number: 1,
    etag,
    from: 0,
    to: PART_BYTES,
    ttlMs: UPLOAD_TTL_MS,
  };
  return checkFound(await files.run(addPart, part));
}

/** Stores the part that a request has claimed. */
export async function storePart(files: UserFiles, request: Request, row: FileRow): Promise<FileRow> {
  const { id, received: from, claim, uploadId, bytes } = row;
  const to = Math.min(bytes, from + PART_BYTES);
  return await limitTime(PART_MS, async (signal) => {
    const body = openUpload(request, signal);
    try {
      if (body.length !== to - from) throw refuseFile("part_size", { what: to - from });
      await files.hold(row, to);
      const upload = files.bucket.resumeMultipartUpload(toBucketKey(id), uploadId as string);
      // if the part is stored without a row, the next attempt replaces it
      const number = from / PART_BYTES + 1;
      const send = (content: ReadableStream<Uint8Array>) => upload.uploadPart(number, content);
      const { etag } = await body.through((content) => sendPart(files, id, () => send(content)));
      const part = { id, userId: files.userId, claim, number, etag, from, to };
      return checkFound(await files.run(addPart, { ...part, ttlMs: UPLOAD_TTL_MS }));
    } finally {
      body.cancel();
    }
  });
}

/**
 * Combines the parts. If an earlier request combined them but ended before it stored the row, the file already exists.
 */
export async function joinParts(files: UserFiles, { id, bytes, type, uploadId }: FileRow): Promise<FileRow> {
  const parts = await files.run(readParts, { id });
  const list = parts.map(({ number, etag }) => ({ partNumber: number, etag }));
  const upload = files.bucket.resumeMultipartUpload(toBucketKey(id), uploadId as string);
  await callStorage(async () => {
    try {
      await upload.complete(list);
    } catch (error) {
      const file = await files.bucket.head(toBucketKey(id));
      if (file?.size !== bytes) await checkOvertaken(files, id, error);
    }
  });
  return await finishFile(files, id, type, files.settings.retentionMs);
}

/**
 * Completes the row of a file. Deletes a file that was removed in the meantime. @throws {Refusal} 404 for such a file
 */
export async function finishFile(
  files: UserFiles,
  id: string,
  type: string,
  retentionMs: number,
): Promise<FileRow> {
  const whole = await files.run(completeFile, { id, userId: files.userId, type, retentionMs });
  if (!whole) await files.discard(id);
  return checkFound(whole);
}

/**
 * Sends a part. @throws {Refusal} 404 or 409 if the upload ended without this part; otherwise the error of the bucket
 */
function sendPart(files: UserFiles, id: string, send: () => Promise<UploadedPart>): Promise<UploadedPart> {
  return send().catch((error: unknown) => checkOvertaken(files, id, error));
}

async function checkOvertaken(files: UserFiles, id: string, error: unknown): Promise<never> {
  const { state, received } = checkFound(await files.run(readFile, { id, now: Date.now() }));
  throw state === "whole" ? refuseFile("upload_offset", { what: received }) : error;
}
