import { createHash, randomUUID } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as NodeStream } from "node:stream/web";
import type { MediaBucket, MultipartUpload, StoredFile, UploadedPart } from "../../files/bucket.js";

/** The facts of a file, in a file beside it. */
interface Facts {
  readonly etag: string;
  readonly contentType: string;
}

/**
 * A bucket whose files are in a folder of this machine. A file is there whole or not at all: its bytes get their name once
 * they are on disk.
 *
 * @param folder its path; it is made where it is missing
 * @example
 * ```ts
 * import { folderBucket } from "@sluice/durable/node";
 *
 * const env = { MEDIA: folderBucket("files") };
 * ```
 */
export function folderBucket(folder: string): MediaBucket {
  const unfinished = join(folder, ".unfinished");
  return { put, get, head, delete: remove, createMultipartUpload, resumeMultipartUpload };

  async function put(
    key: string,
    value: ReadableStream<Uint8Array>,
    { httpMetadata: { contentType } }: { httpMetadata: { contentType: string } },
  ): Promise<void> {
    const { path, etag } = await written(value);
    await named(key, path, { etag, contentType });
  }

  async function get(key: string, { range }: { range: Headers }): Promise<StoredFile | null> {
    const file = await head(key);
    if (!file) return null;
    const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/.exec(range.get("range") ?? "") ?? [];
    const start = from === "" ? (to === "" ? 0 : Math.max(0, file.size - Number(to))) : Number(from);
    const end = from === "" || to === "" ? file.size - 1 : Math.min(Number(to), file.size - 1);
    const bytes = createReadStream(pathOf(key), { start, end: Math.max(end, 0) });
    return { ...file, body: Readable.toWeb(bytes) as unknown as ReadableStream<Uint8Array> };
  }

  async function head(key: string): Promise<StoredFile | null> {
    try {
      const [{ size }, text] = await Promise.all([stat(pathOf(key)), readFile(factsOf(key), "utf8")]);
      const { etag, contentType } = JSON.parse(text) as Facts;
      return { size, httpEtag: `"${etag}"`, httpMetadata: { contentType } };
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  async function remove(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      await rm(pathOf(key), { force: true });
      await rm(factsOf(key), { force: true });
    }
  }

  async function createMultipartUpload(
    key: string,
    { httpMetadata: { contentType } }: { httpMetadata: { contentType: string } },
  ): Promise<MultipartUpload> {
    const uploadId = randomUUID();
    await mkdir(join(unfinished, uploadId), { recursive: true });
    await writeFile(join(unfinished, uploadId, "type"), contentType);
    return resumeMultipartUpload(key, uploadId);
  }

  function resumeMultipartUpload(key: string, uploadId: string): MultipartUpload {
    if (!/^[\w-]+$/.test(uploadId)) throw new TypeError("an upload has no such id");
    const parts = join(unfinished, uploadId);
    return {
      uploadId,
      async uploadPart(partNumber, value) {
        await contentType();
        const { path, etag } = await written(value);
        await rename(path, join(parts, partName({ partNumber, etag })));
        return { partNumber, etag };
      },
      async complete(list) {
        const type = await contentType();
        const path = join(unfinished, randomUUID());
        const all = createHash("sha256");
        for (const part of list) {
          await pipeline(
            createReadStream(join(parts, partName(part))),
            createWriteStream(path, { flags: "a" }),
          );
          all.update(part.etag);
        }
        await named(key, path, { etag: all.digest("hex"), contentType: type });
        await rm(parts, { recursive: true, force: true });
      },
      abort: () => rm(parts, { recursive: true, force: true }),
    };

    /** @throws {Error} where the upload was ended before */
    function contentType(): Promise<string> {
      return readFile(join(parts, "type"), "utf8");
    }
  }

  /** Writes bytes to a file without a name of its own yet. */
  async function written(value: ReadableStream<Uint8Array>): Promise<{ path: string; etag: string }> {
    await mkdir(unfinished, { recursive: true });
    const path = join(unfinished, randomUUID());
    const hash = createHash("sha256");
    try {
      await pipeline(
        Readable.fromWeb(value as unknown as NodeStream<Uint8Array>),
        async function* (bytes: AsyncIterable<Uint8Array>) {
          for await (const piece of bytes) {
            hash.update(piece);
            yield piece;
          }
        },
        createWriteStream(path),
      );
    } catch (error) {
      await rm(path, { force: true });
      throw error;
    }
    return { path, etag: hash.digest("hex") };
  }

  /** Gives a file its name, once it is on disk. The facts come first: without them there is no file. */
  async function named(key: string, path: string, facts: Facts): Promise<void> {
    const file = await open(path, "r");
    await file.sync().finally(() => file.close());
    await mkdir(dirname(pathOf(key)), { recursive: true });
    await writeFile(factsOf(key), JSON.stringify(facts));
    await rename(path, pathOf(key));
  }

  /** @throws {TypeError} for a name that leads out of the folder */
  function pathOf(key: string): string {
    if (!/^\w[\w-]*(?:\/\w[\w-]*)*$/.test(key)) throw new TypeError("a file has no such name");
    return join(folder, key);
  }

  function factsOf(key: string): string {
    return `${pathOf(key)}.json`;
  }
}

function partName({ partNumber, etag }: UploadedPart): string {
  return `${partNumber}-${etag}`;
}

function isMissing(error: unknown): boolean {
  return (error as { code?: string }).code === "ENOENT";
}
