import { limitTime } from "@sluice/worker-proxy/plugin";
import { cutPieces } from "../../buckets/pieces.js";
import { openFile } from "../files/file-body.js";
import { findType, HEAD_BYTES } from "../files/file-type.js";
import { type ArchiveSettings, COPY_MS, MARGIN_MS, PART_BYTES, readHosts } from "../files/options.js";
import { beginUpload } from "../files/parts.js";
import { readFile } from "../files/readings.js";
import { callStorage, refuseFile } from "../files/refusals.js";
import { growSpace } from "../files/space.js";
import { checkFound, type Store, toBucketKey, type UserFiles } from "../files/store.js";
import { finishFile, putWhole, storeReserved } from "../files/store-bytes.js";
import type { CopyRow, FileRow } from "../files/tables.js";
import { fetchSource } from "./source.js";

/** Maximum number of attempts per file. */
export const MAX_ATTEMPTS = 5;

/** A copy in progress. */
interface Copying {
  readonly files: UserFiles;
  readonly copy: CopyRow;
  readonly archive: ArchiveSettings<never>;
  readonly signal: AbortSignal;
}

/**
 * Copies one file of the gateway into the bucket, and counts it in the user's space. Streams the bytes as they arrive.
 *
 * @throws {Refusal} if the copy fails
 */
export async function copyFile<Env>(
  store: Store<Env>,
  files: UserFiles,
  copy: CopyRow,
  env: Env,
): Promise<FileRow> {
  const { id, attempts, url } = copy;
  const { archive } = store.settings;
  if (attempts > 1) {
    // an interrupted attempt may have stored the file
    const left = await files.run(readFile, { id, now: Date.now() });
    if (left?.state === "whole") return left;
    await files.discard(id);
  }
  if (!archive || attempts > MAX_ATTEMPTS) throw refuseFile("copy_cut");
  const hosts = await readHosts(archive, env);
  return await limitTime(COPY_MS, async (signal) => {
    const response = await fetchSource(url, hosts, signal);
    const copying = { files, copy, archive, signal };
    try {
      return await storeResponse(copying, response);
    } catch (error) {
      await response.body?.cancel().catch(() => {});
      throw error;
    }
  });
}

async function storeResponse(copying: Copying, { body, headers }: Response): Promise<FileRow> {
  const { archive, signal } = copying;
  const content = body as ReadableStream<Uint8Array>;
  const said = headers.has("content-encoding") ? null : headers.get("content-length");
  if (said === null) return await storeUnsized(copying, content);
  const length = Number(said);
  if (length > archive.maxBytes) throw refuseFile("file_too_large", { what: archive.maxBytes });
  if (!(length > 0)) throw refuseFile("source_failed", { what: "it is empty" });
  const file = openFile(content, length, signal);
  const type = checkType(await file.head());
  return await storeReserved(copying.files, createFile(copying, { type, bytes: length }), length, () =>
    putWhole(copying.files, file, { id: copying.copy.id, type }, archive.retentionMs),
  );
}

/** Stores a file of unknown length, part by part. */
async function storeUnsized(copying: Copying, body: ReadableStream<Uint8Array>): Promise<FileRow> {
  const { files, copy, archive, signal } = copying;
  const { id } = copy;
  const parts = readParts(body);
  try {
    const first = await parts.next();
    if (first.done || first.value.byteLength === 0)
      throw refuseFile("source_failed", { what: "it is empty" });
    const type = checkType(first.value.subarray(0, HEAD_BYTES));
    const bytes = checkSize(first.value.byteLength, archive.maxBytes);
    return await storeReserved(files, createFile(copying, { type, bytes }), bytes, async () => {
      const second = bytes < PART_BYTES ? undefined : await parts.next();
      const whole = openFile(createStream(first.value), bytes, signal);
      if (!second || second.done) return await putWhole(files, whole, { id, type }, archive.retentionMs);
      return await storeParts(copying, type, [first.value, second.value], parts);
    });
  } finally {
    await parts.return();
  }
}

async function storeParts(
  { files, copy: { id }, archive, signal }: Copying,
  type: string,
  begun: readonly Uint8Array[],
  rest: AsyncGenerator<Uint8Array, void>,
): Promise<FileRow> {
  const key = toBucketKey(id);
  const options = { httpMetadata: { contentType: type } };
  const upload = await callStorage(() => files.bucket.createMultipartUpload(key, options));
  checkFound(await files.run(beginUpload, { id, type, uploadId: upload.uploadId }));
  const list: { partNumber: number; etag: string }[] = [];
  let bytes = 0;
  for await (const part of joinParts(begun, rest)) {
    bytes = checkSize(bytes + part.byteLength, archive.maxBytes);
    await growSpace(files, { id, bytes });
    const file = openFile(createStream(part), part.byteLength, signal);
    const { etag } = await file.through((content) => upload.uploadPart(list.length + 1, content));
    list.push({ partNumber: list.length + 1, etag });
  }
  await callStorage(() => upload.complete(list));
  return await finishFile(files, id, type, archive.retentionMs);
}

/** Reads a body in parts. @throws {Refusal} 400 `upload_cut` if the body breaks off */
async function* readParts(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  try {
    yield* cutPieces(body, PART_BYTES);
  } catch (cause) {
    throw refuseFile("upload_cut", { cause });
  }
}

async function* joinParts(begun: readonly Uint8Array[], rest: AsyncGenerator<Uint8Array, void>) {
  yield* begun;
  yield* rest;
}

/** Creates the file row of a copy. */
function createFile({ copy }: Copying, file: Pick<FileRow, "type" | "bytes">) {
  const { id, source, taskId } = copy;
  return { ...file, id, source, taskId, claim: crypto.randomUUID(), holdMs: COPY_MS + MARGIN_MS };
}

/** @throws {Refusal} 415 for a file other than an image or a video */
function checkType(head: Uint8Array): string {
  const type = findType(head as Parameters<typeof findType>[0]);
  if (type && /^(?:image|video)\//.test(type)) return type;
  throw refuseFile("file_type", { what: "no picture or film" });
}

/** @throws {Refusal} 413 for a file that is too large */
function checkSize(bytes: number, maxBytes: number): number {
  if (bytes > maxBytes) throw refuseFile("file_too_large", { what: maxBytes });
  return bytes;
}

function createStream(bytes: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue(bytes);
      controller.close();
    },
  });
}
