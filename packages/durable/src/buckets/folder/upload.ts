import { randomUUID } from "node:crypto";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ReadableStream as NodeStream } from "node:stream/web";
import type { MultipartUpload, UploadedPart } from "../bucket.js";
import { openFile, readFile, writeFile } from "./file.js";
import { hashName, ignoreMissing, type Paths, syncFolder } from "./paths.js";

/** The id of an upload: the name of its folder, and its content type in hex. */
const ID = /^(?<name>[\da-f-]{36})\.(?<type>[\da-f]*)$/;

/** Starts a multipart upload in a separate folder. */
export async function beginUpload(paths: Paths, key: string, contentType: string): Promise<MultipartUpload> {
  const uploadId = `${randomUUID()}.${Buffer.from(contentType).toString("hex")}`;
  await mkdir(await findFolder(paths, key, uploadId), { mode: 0o700 });
  return openUpload(paths, key, uploadId);
}

/** Opens a multipart upload, which may have ended. A part replaces an earlier part with the same number. */
export function openUpload(paths: Paths, key: string, uploadId: string): MultipartUpload {
  return { uploadId, uploadPart, complete, abort };

  async function uploadPart(partNumber: number, value: ReadableStream<Uint8Array>): Promise<UploadedPart> {
    if (!Number.isSafeInteger(partNumber) || partNumber < 1)
      throw new TypeError("a part has a number from 1 up");
    const folder = await findFolder(paths, key, uploadId);
    const etag = randomUUID();
    const path = join(folder, `${partNumber}.${etag}`);
    await writeFile(path, { key, etag, contentType: "" }, toIterable(value)).catch(throwMissingUpload);
    await rename(path, join(folder, String(partNumber)));
    await syncFolder(folder);
    return { partNumber, etag };
  }

  async function complete(parts: readonly UploadedPart[]): Promise<void> {
    const folder = await findFolder(paths, key, uploadId);
    const contentType = Buffer.from(ID.exec(uploadId)?.groups?.["type"] ?? "", "hex").toString();
    const path = join(await paths.openUnfinished(), randomUUID());
    const metadata = { key, etag: randomUUID(), contentType };
    await writeFile(path, metadata, joinParts(folder, parts)).catch(throwMissingUpload);
    await paths.moveToKey(path, key);
    await abort();
  }

  async function abort(): Promise<void> {
    if (ID.test(uploadId)) await rm(await findFolder(paths, key, uploadId), { recursive: true, force: true });
  }
}

/** Returns the folder of an upload. The name contains the key, so that an upload exists only for its key. */
async function findFolder(paths: Paths, key: string, uploadId: string): Promise<string> {
  const { name } = ID.exec(uploadId)?.groups ?? {};
  if (name === undefined) return throwMissingUpload({ code: "ENOENT" });
  return join(await paths.openUnfinished(), `${name}.${hashName(key)}`);
}

/** Replaces the error of a missing file with R2's error for a missing upload. Rethrows every other error. */
function throwMissingUpload(error: unknown): never {
  ignoreMissing(error);
  throw new Error("there is no such upload (10024)");
}

/** Returns a stream as the iterable that Node's file functions accept. */
export function toIterable(value: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  return value as unknown as NodeStream<Uint8Array>;
}

/** @throws {Error} for a missing part, or a part that was replaced by a later request */
async function* joinParts(folder: string, parts: readonly UploadedPart[]): AsyncGenerator<Uint8Array> {
  for (const { partNumber, etag } of parts) {
    const part = await openFile(join(folder, String(partNumber)));
    if (part.etag !== etag) {
      await part.handle.close();
      throw new Error(`part ${partNumber} was stored again since`);
    }
    yield* readFile(part);
  }
}
