import { randomUUID } from "node:crypto";
import { mkdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ReadableStream as NodeStream } from "node:stream/web";
import type { MultipartUpload, UploadedPart } from "../bucket.js";
import { openFile, readFile, writeFile } from "./file.js";
import { missing, onDisk, type openPlaces } from "./places.js";

/** The file of an upload that has no bytes: its facts are those of the whole. */
const WHOLE = "whole";

/** Begins an upload in parts, in a folder of its own. */
export async function beginUpload(
  places: ReturnType<typeof openPlaces>,
  key: string,
  contentType: string,
): Promise<MultipartUpload> {
  const uploadId = randomUUID();
  const folder = join(await places.unfinished(), uploadId);
  await mkdir(folder, { mode: 0o700 });
  await writeFile(join(folder, WHOLE), { key, etag: randomUUID(), contentType }, none());
  return openUpload(places, key, uploadId);
}

/** Opens an upload in parts, which may have ended. A part that is stored again takes the place of the earlier one. */
export function openUpload(
  places: ReturnType<typeof openPlaces>,
  key: string,
  uploadId: string,
): MultipartUpload {
  return { uploadId, uploadPart, complete, abort };

  async function uploadPart(partNumber: number, value: ReadableStream<Uint8Array>): Promise<UploadedPart> {
    if (!Number.isSafeInteger(partNumber) || partNumber < 1)
      throw new TypeError("a part has a number from 1 up");
    const { folder } = await begun();
    const etag = randomUUID();
    const path = join(folder, `${partNumber}.${etag}`);
    await writeFile(path, { key, etag, contentType: "" }, bytesOf(value));
    await rename(path, join(folder, String(partNumber)));
    await onDisk(folder);
    return { partNumber, etag };
  }

  async function complete(parts: readonly UploadedPart[]): Promise<void> {
    const { folder, contentType } = await begun();
    const path = join(await places.unfinished(), randomUUID());
    await writeFile(path, { key, etag: randomUUID(), contentType }, contentOf(folder, parts));
    await places.named(path, key);
    await abort();
  }

  async function abort(): Promise<void> {
    const folder = await folderOf();
    if (folder !== undefined) await rm(folder, { recursive: true, force: true });
  }

  /** @throws {Error} with R2's code of an upload that is not there */
  async function begun() {
    const folder = await folderOf();
    const whole = folder ? await openFile(join(folder, WHOLE)).catch(missing) : undefined;
    await whole?.handle.close();
    if (!folder || whole?.key !== key) throw new Error("there is no such upload (10024)");
    return { folder, contentType: whole.contentType };
  }

  async function folderOf(): Promise<string | undefined> {
    return /^[\da-f-]{36}$/.test(uploadId) ? join(await places.unfinished(), uploadId) : undefined;
  }
}

/** The stream as what Node's own functions read. */
export function bytesOf(value: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  return value as unknown as NodeStream<Uint8Array>;
}

async function* none(): AsyncGenerator<Uint8Array> {}

/** @throws {Error} for a part that was never stored, or was stored again since */
async function* contentOf(folder: string, parts: readonly UploadedPart[]): AsyncGenerator<Uint8Array> {
  for (const { partNumber, etag } of parts) {
    const part = await openFile(join(folder, String(partNumber)));
    if (part.etag !== etag) {
      await part.handle.close();
      throw new Error(`part ${partNumber} is another one by now`);
    }
    yield* bytesOf(readFile(part));
  }
}
