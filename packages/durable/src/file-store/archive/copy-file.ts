import { cutPieces } from "../../buckets/pieces.js";
import { limitTime } from "../../shared/time.js";
import { findType } from "../files/file-type.js";
import { ATTEMPT_MS, PART_BYTES, readHosts, STORE_MS } from "../files/options.js";
import { callStorage, refuseFile } from "../files/refusals.js";
import { type Store, toBucketKey, type UserFiles } from "../files/store.js";
import { beginMultipart, finishFile, reserveSpace } from "../files/store-bytes.js";
import type { FileRow } from "../files/tables.js";
import { fetchSource } from "./source.js";

/** Maximum number of attempts per file. */
export const MAX_ATTEMPTS = 5;

/**
 * Copies one file of the gateway into the bucket, and counts it in the user's space. Holds one part in memory at a time.
 *
 * @throws {Refusal} if the copy fails
 */
export async function copyFile<Env>(
  { settings: { archive } }: Store<Env>,
  files: UserFiles,
  copy: FileRow,
  env: Env,
): Promise<FileRow> {
  // the option may have been removed after the copy was queued
  if (!archive || copy.attempts > MAX_ATTEMPTS) throw refuseFile("copy_cut");
  const hosts = await readHosts(archive, env);
  return await limitTime(STORE_MS, async (signal) => {
    const response = await fetchSource(copy.url ?? "", hosts, signal);
    try {
      return await storeResponse(files, copy, archive, response, signal);
    } finally {
      response.body?.cancel().catch(() => {});
    }
  });
}

async function storeResponse(
  files: UserFiles,
  { id, claim }: FileRow,
  { maxBytes, retentionMs }: { readonly maxBytes: number; readonly retentionMs: number },
  { body, headers }: Response,
  signal: AbortSignal,
): Promise<FileRow> {
  const length = headers.has("content-encoding") ? null : headers.get("content-length");
  const announced = Number(length ?? 0);
  const key = toBucketKey(id);
  const parts: { partNumber: number; etag: string }[] = [];
  let [bytes, type, uploadId] = [0, "", ""];
  await reserveBytes();
  for await (const { piece, isLast } of readPieces(body as ReadableStream<Uint8Array>, signal)) {
    bytes += piece.byteLength;
    await reserveBytes();
    if (isLast && (bytes === 0 || length === "0")) throw refuseFile("source_failed", { what: "it is empty" });
    if (isLast && length !== null && bytes !== announced) throw refuseFile("upload_cut");
    type ||= checkType(piece);
    const content = () => new Response(piece).body as ReadableStream<Uint8Array>;
    if (isLast && !uploadId) {
      const options = { httpMetadata: { contentType: type } };
      await callStorage(() => files.bucket.put(key, content(), options));
      break;
    }
    uploadId ||= await beginMultipart(files, id, type);
    const upload = files.bucket.resumeMultipartUpload(key, uploadId);
    parts.push(await callStorage(() => upload.uploadPart(parts.length + 1, content())));
    if (isLast) await callStorage(() => upload.complete(parts));
  }
  return await finishFile(files, { id, claim, type, retentionMs });

  /** Reserves the announced size, or the size so far. @throws {Refusal} 413 for a file that is too large */
  async function reserveBytes(): Promise<void> {
    const size = Math.max(bytes, announced);
    if (size > maxBytes) throw refuseFile("file_too_large", { what: maxBytes });
    if (size === 0) return;
    await reserveSpace(files, { id, claim, isCopy: true, bytes: size, claimMs: ATTEMPT_MS });
  }
}

/** Reads a body in parts. @throws {Refusal} 400 `upload_cut` if the body breaks off or takes too long */
async function* readPieces(body: ReadableStream<Uint8Array>, signal: AbortSignal) {
  try {
    yield* cutPieces(body.pipeThrough(new TransformStream(), { signal }), PART_BYTES);
  } catch (cause) {
    throw refuseFile("upload_cut", { cause });
  }
}

/** @throws {Refusal} 415 for a file other than an image or a video */
function checkType(head: Uint8Array): string {
  const type = findType(head);
  if (type && /^(?:image|video)\//.test(type)) return type;
  throw refuseFile("file_type", { what: "neither an image nor a video" });
}
