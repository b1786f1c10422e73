import {
  checkKey,
  type ListedBucket,
  type ListOptions,
  type MultipartUpload,
  type StoredFile,
  type UploadedPart,
} from "../../files/bucket.js";
import { openStores, type Stores } from "./stores.js";

/** A file as the database has it. */
interface FileEntry {
  readonly etag: string;
  readonly contentType: string;
  readonly content: Blob;
}

/** An upload in parts. */
interface UploadEntry {
  readonly key: string;
  readonly contentType: string;
}

/** A part of an upload. */
type PartEntry = Pick<FileEntry, "etag" | "content">;

/**
 * Keeps files in an IndexedDB database of this browser. A file is there whole or not at all.
 *
 * @param database its name; it is made where it is missing
 * @example
 * ```ts
 * import { databaseBucket } from "@sluice/durable/indexed-db";
 *
 * const env = { MEDIA: databaseBucket("gateway-files") };
 * ```
 */
export function databaseBucket(database: string): ListedBucket {
  const stores = openStores(database);
  return {
    async put(key, value, { httpMetadata: { contentType } }) {
      checkKey(key);
      const content = await new Response(value).blob();
      await putFile(stores, key, { contentType, content });
    },
    async get(key, { range }) {
      const file = await read<FileEntry>("files", key);
      if (!file) return null;
      const { first, last } = partIn(range.get("range") ?? "", file.content.size);
      return { ...factsOf(file), body: file.content.slice(first, last + 1).stream() };
    },
    async head(key) {
      const file = await read<FileEntry>("files", key);
      return file ? factsOf(file) : null;
    },
    async delete(keys) {
      await stores.write(["files"], (store) => {
        for (const key of keys) store("files").delete(key);
      });
    },
    async createMultipartUpload(key, { httpMetadata: { contentType } }) {
      checkKey(key);
      const uploadId = crypto.randomUUID();
      const entry: UploadEntry = { key, contentType };
      await stores.write(["uploads"], (store) => void store("uploads").put(entry, uploadId));
      return openUpload(stores, key, uploadId);
    },
    resumeMultipartUpload: (key, uploadId) => openUpload(stores, key, uploadId),
    list,
  };

  async function list({ prefix = "", cursor = "", limit = 1000 }: ListOptions = {}) {
    const most = Math.min(Math.max(1, Math.floor(limit)), 1000);
    const from = cursor > prefix ? IDBKeyRange.lowerBound(cursor, true) : IDBKeyRange.lowerBound(prefix);
    const [keys, files] = await Promise.all([
      stores.read("files", (store) => store.getAllKeys(from, most) as IDBRequest<string[]>),
      stores.read("files", (store) => store.getAll(from, most) as IDBRequest<FileEntry[]>),
    ]);
    const found = keys.map((key, at) => ({ key, size: files[at]?.content.size ?? 0 }));
    const last = keys.length < most ? undefined : keys.at(-1);
    const objects = found.filter(({ key }) => key.startsWith(prefix));
    // what does not begin so comes behind all that does
    const isMore = last?.startsWith(prefix) === true;
    return { objects, truncated: isMore, cursor: isMore ? last : undefined };
  }

  function read<Entry>(name: string, key: string): Promise<Entry | undefined> {
    checkKey(key);
    return stores.read(name, (store) => store.get(key) as IDBRequest<Entry | undefined>);
  }
}

function factsOf({ etag, contentType, content }: FileEntry): StoredFile {
  return { size: content.size, httpEtag: `"${etag}"`, httpMetadata: { contentType } };
}

async function putFile(stores: Stores, key: string, file: Omit<FileEntry, "etag">): Promise<void> {
  const entry: FileEntry = { ...file, etag: crypto.randomUUID() };
  await stores.write(["files"], (store) => void store("files").put(entry, key));
}

/** Opens an upload in parts, which may have ended. A part that is stored again takes the place of the earlier one. */
function openUpload(stores: Stores, key: string, uploadId: string): MultipartUpload {
  const parts = IDBKeyRange.bound([uploadId], [uploadId, []]);
  return { uploadId, uploadPart, complete, abort };

  async function uploadPart(partNumber: number, value: ReadableStream<Uint8Array>): Promise<UploadedPart> {
    if (!Number.isSafeInteger(partNumber) || partNumber < 1)
      throw new TypeError("a part has a number from 1 up");
    await begun();
    const entry: PartEntry = { etag: crypto.randomUUID(), content: await new Response(value).blob() };
    await stores.write(["parts"], (store) => void store("parts").put(entry, [uploadId, partNumber]));
    return { partNumber, etag: entry.etag };
  }

  async function complete(given: readonly UploadedPart[]): Promise<void> {
    const { contentType } = await begun();
    const contents = await Promise.all(given.map(contentOf));
    await putFile(stores, key, { contentType, content: new Blob(contents) });
    await abort();
  }

  /** @throws {Error} for a part that was never stored, or was stored again since */
  async function contentOf({ partNumber, etag }: UploadedPart): Promise<Blob> {
    const part = await stores.read(
      "parts",
      (store) => store.get([uploadId, partNumber]) as IDBRequest<PartEntry | undefined>,
    );
    if (part?.etag !== etag) throw new Error(`part ${partNumber} is another one by now`);
    return part.content;
  }

  async function abort(): Promise<void> {
    await stores.write(["uploads", "parts"], (store) => {
      store("uploads").delete(uploadId);
      store("parts").delete(parts);
    });
  }

  /** @throws {Error} with R2's code of an upload that is not there */
  async function begun(): Promise<UploadEntry> {
    const upload = await stores.read(
      "uploads",
      (store) => store.get(uploadId) as IDBRequest<UploadEntry | undefined>,
    );
    if (upload?.key !== key) throw new Error("there is no such upload (10024)");
    return upload;
  }
}

/** Returns the bytes that a range names; all of them for what is no range. */
function partIn(range: string, size: number) {
  const [, from = "", to = ""] = /^bytes=(\d*)-(\d*)$/.exec(range) ?? [];
  if (from === "") return { first: to === "" ? 0 : Math.max(0, size - Number(to)), last: size - 1 };
  return { first: Number(from), last: to === "" ? size - 1 : Math.min(Number(to), size - 1) };
}
