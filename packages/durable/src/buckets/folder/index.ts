import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { Readable } from "node:stream";
import { type Bucket, checkKey, type StoredFile } from "../bucket.js";
import { type OpenFile, openFile, readFile, writeFile } from "./file.js";
import { createPaths, ignoreMissing } from "./paths.js";
import { beginUpload, openUpload, toIterable } from "./upload.js";

/**
 * Stores files in a local folder. A file gets its name after its bytes are on the disk, so a crash or a full disk
 * leaves no partial file under that name. Leftovers of a crash are deleted after a day, parts of an upload after seven
 * days. Several processes can use the folder. Only the user of the process can read it.
 *
 * @param folder path of the folder; created if missing
 * @example
 * ```ts
 * import { folderBucket } from "@sluice/durable/node";
 *
 * const env = { MEDIA: folderBucket("files") };
 * ```
 */
export function folderBucket(folder: string): Bucket {
  const paths = createPaths(folder);
  return {
    async put(key, value, { httpMetadata: { contentType } }) {
      checkKey(key);
      const path = join(await paths.openUnfinished(), randomUUID());
      await writeFile(path, { key, etag: randomUUID(), contentType }, toIterable(value));
      await paths.moveToKey(path, key);
    },
    async get(key, { range }) {
      const file = await open(key);
      if (!file) return null;
      const { first, last } = parseRange(range.get("range") ?? "", file.size);
      const body = Readable.toWeb(readFile(file, first, last)) as ReadableStream<Uint8Array>;
      return { ...describeFile(file), body };
    },
    async head(key) {
      const file = await open(key);
      await file?.handle.close();
      return file ? describeFile(file) : null;
    },
    async delete(keys) {
      for (const key of keys) checkKey(key);
      await paths.removeFiles(keys);
    },
    async createMultipartUpload(key, { httpMetadata: { contentType } }) {
      checkKey(key);
      return await beginUpload(paths, key, contentType);
    },
    resumeMultipartUpload: (key, uploadId) => openUpload(paths, key, uploadId),
  };

  async function open(key: string): Promise<OpenFile | undefined> {
    checkKey(key);
    const path = await paths.findFile(key).catch(ignoreMissing);
    return path === undefined ? undefined : await openFile(path).catch(ignoreMissing);
  }
}

function describeFile({ size, etag, contentType }: OpenFile): StoredFile {
  return { size, httpEtag: `"${etag}"`, httpMetadata: { contentType } };
}

/** Returns the first and last byte of a range; the whole file without one. */
function parseRange(range: string, size: number) {
  const [, first = 0, last = size - 1] = /^bytes=(\d+)-(\d+)$/.exec(range) ?? [];
  return { first: Number(first), last: Number(last) };
}
