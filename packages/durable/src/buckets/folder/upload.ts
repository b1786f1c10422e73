import { randomUUID } from "node:crypto";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ReadableStream as NodeStream } from "node:stream/web";
import type { MultipartUpload, UploadedPart } from "../bucket.js";
import { openFile, readFile, writeFile } from "./file.js";
import { ignoreMissing, type Paths, syncFolder } from "./paths.js";

/** Name of the file that stores the metadata of the upload, without content. */
const WHOLE = "whole";

/** Starts a multipart upload in a separate folder. */
export async function beginUpload(paths: Paths, key: string, contentType: string): Promise<MultipartUpload> {
  const uploadId = randomUUID();
  const folder = join(await paths.createUnfinished(), uploadId);
  await mkdir(folder, { mode: 0o700 });
  await writeFile(join(folder, WHOLE), { key, etag: randomUUID(), contentType }, createEmpty());
  return openUpload(paths, key, uploadId);
}

/** Opens a multipart upload, which may have ended. A part replaces an earlier part with the same number. */
export function openUpload(paths: Paths, key: string, uploadId: string): MultipartUpload {
  return { uploadId, uploadPart, complete, abort };

  async function uploadPart(partNumber: number, value: ReadableStream<Uint8Array>): Promise<UploadedPart> {
    if (!Number.isSafeInteger(partNumber) || partNumber < 1)
      throw new TypeError("a part has a number from 1 up");
    const { folder } = await readUpload();
    const etag = randomUUID();
    const path = join(folder, `${partNumber}.${etag}`);
    await writeFile(path, { key, etag, contentType: "" }, readBytes(value));
    await rename(path, join(folder, String(partNumber)));
    await syncFolder(folder);
    return { partNumber, etag };
  }

  async function complete(parts: readonly UploadedPart[]): Promise<void> {
    const { folder, contentType } = await readUpload();
    const path = join(await paths.createUnfinished(), randomUUID());
    await writeFile(path, { key, etag: randomUUID(), contentType }, joinParts(folder, parts));
    await paths.nameFile(path, key);
    await abort();
  }

  async function abort(): Promise<void> {
    const folder = await findFolder();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }

  /** @throws {Error} with R2's error code for a missing upload */
  async function readUpload() {
    const folder = await findFolder();
    const whole = folder ? await openFile(join(folder, WHOLE)).catch(ignoreMissing) : undefined;
    await whole?.handle.close();
    if (!folder || whole?.key !== key) throw new Error("there is no such upload (10024)");
    return { folder, contentType: whole.contentType };
  }

  async function findFolder(): Promise<string | undefined> {
    return /^[\da-f-]{36}$/.test(uploadId) ? join(await paths.createUnfinished(), uploadId) : undefined;
  }
}

/** Returns a stream as the iterable that Node's file functions accept. */
export function readBytes(value: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  return value as unknown as NodeStream<Uint8Array>;
}

async function* createEmpty(): AsyncGenerator<Uint8Array> {}

/** @throws {Error} for a missing part, or a part that was replaced by a later request */
async function* joinParts(folder: string, parts: readonly UploadedPart[]): AsyncGenerator<Uint8Array> {
  for (const { partNumber, etag } of parts) {
    const part = await openFile(join(folder, String(partNumber)));
    if (part.etag !== etag) {
      await part.handle.close();
      throw new Error(`part ${partNumber} was stored again since`);
    }
    yield* readBytes(readFile(part));
  }
}
