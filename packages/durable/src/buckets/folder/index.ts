import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { checkKey, type ListedBucket, type ListOptions, type StoredFile } from "../bucket.js";
import { type OpenFile, openFile, readFile, writeFile } from "./file.js";
import { cursorAt, missing, openPlaces } from "./places.js";
import { beginUpload, bytesOf, openUpload } from "./upload.js";

/**
 * Keeps files in a folder of this machine. A file is there whole or not at all, also after a crash or on a full disk: its
 * bytes get their name once they are on the disk. What a crash leaves is deleted after a day, parts of an upload after
 * seven. Several processes may have the folder. Nobody but the user of the process can read it.
 *
 * @param folder its path; it is made where it is missing
 * @example
 * ```ts
 * import { folderBucket } from "@sluice/durable/node";
 *
 * const env = { MEDIA: folderBucket("files") };
 * ```
 */
export function folderBucket(folder: string): ListedBucket {
  const places = openPlaces(folder);
  return {
    async put(key, value, { httpMetadata: { contentType } }) {
      checkKey(key);
      const path = join(await places.unfinished(), randomUUID());
      await writeFile(path, { key, etag: randomUUID(), contentType }, bytesOf(value));
      await places.named(path, key);
    },
    async get(key, { range }) {
      const file = await opened(key);
      if (!file) return null;
      const { first, last } = partIn(range.get("range") ?? "", file.size);
      return { ...factsOf(file), body: readFile(file, first, last) };
    },
    async head(key) {
      const file = await opened(key);
      await file?.handle.close();
      return file ? factsOf(file) : null;
    },
    async delete(keys) {
      for (const key of keys) checkKey(key);
      await places.removed(keys);
    },
    async createMultipartUpload(key, { httpMetadata: { contentType } }) {
      checkKey(key);
      return await beginUpload(places, key, contentType);
    },
    resumeMultipartUpload: (key, uploadId) => openUpload(places, key, uploadId),
    list,
  };

  async function list({ prefix = "", cursor = "", limit = 1000 }: ListOptions = {}) {
    const most = Math.min(Math.max(1, Math.floor(limit)), 1000);
    const paths = await places.namesAfter(cursor, most);
    const found = [];
    for (const path of paths) {
      const file = await openFile(path).catch(missing);
      await file?.handle.close();
      if (file?.key.startsWith(prefix)) found.push({ key: file.key, size: file.size });
    }
    const [last] = paths.length < most ? [] : paths.slice(-1);
    return { objects: found, truncated: last !== undefined, cursor: last && cursorAt(last) };
  }

  async function opened(key: string): Promise<OpenFile | undefined> {
    checkKey(key);
    const path = await places.fileOf(key).catch(missing);
    return path === undefined ? undefined : await openFile(path).catch(missing);
  }
}

function factsOf({ size, etag, contentType }: OpenFile): StoredFile {
  return { size, httpEtag: `"${etag}"`, httpMetadata: { contentType } };
}

/** Returns the bytes that a range names; all of them for what is no range. */
function partIn(range: string, size: number) {
  const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/.exec(range) ?? [];
  if (from === "") return { first: to === "" ? 0 : Math.max(0, size - Number(to)), last: size - 1 };
  return { first: Number(from), last: to === "" ? size - 1 : Math.min(Number(to), size - 1) };
}
