/*
 * The part of R2's API that is used here. The types are written out, so that no package of types is needed; the
 * platform's own types fit them.
 */

/** Type of a file in the bucket. */
interface StoreOptions {
  readonly httpMetadata: { readonly contentType: string };
}

/** One part of a multipart upload, as R2 needs it to put the file together. */
export interface UploadedPart {
  readonly partNumber: number;
  readonly etag: string;
}

/** A multipart upload of R2. */
export interface MultipartUpload {
  readonly uploadId: string;
  uploadPart(partNumber: number, value: ReadableStream<Uint8Array>): Promise<UploadedPart>;
  complete(parts: UploadedPart[]): Promise<unknown>;
  abort(): Promise<void>;
}

/** A file in the bucket; `body` is absent in the answer of `head`. */
export interface StoredFile {
  readonly size: number;
  readonly httpEtag: string;
  readonly httpMetadata?: { readonly contentType?: string | undefined } | undefined;
  readonly body?: ReadableStream<Uint8Array> | undefined;
}

/**
 * A place for files: a binding to an R2 bucket, `env.MEDIA`, a `folderBucket`, an `s3Bucket`, or one of your own, which
 * `testBucket` of `@sluice/durable/testing` tries. A file is there whole or not at all.
 */
export interface MediaBucket {
  put(key: string, value: ReadableStream<Uint8Array>, options: StoreOptions): Promise<unknown>;
  get(key: string, options: { range: Headers }): Promise<StoredFile | null>;
  head(key: string): Promise<StoredFile | null>;
  delete(keys: string[]): Promise<void>;
  createMultipartUpload(key: string, options: StoreOptions): Promise<MultipartUpload>;
  resumeMultipartUpload(key: string, uploadId: string): MultipartUpload;
}

/** A page of the files in a bucket. It may have fewer files than were asked for, or none, where more follow. */
export interface ListedFiles {
  readonly objects: readonly ListedFile[];
  /** True where more follow. */
  readonly truncated: boolean;
  /** The start of the next page; absent after the last one. */
  readonly cursor?: string | undefined;
}

/** A file in a list. */
export interface ListedFile {
  readonly key: string;
  /** In bytes. */
  readonly size: number;
}

/** Part of a bucket that is listed. */
export interface ListOptions {
  /** The start of the names that are listed. @default all */
  readonly prefix?: string;
  /** `cursor` of the page before. @default the first page */
  readonly cursor?: string | undefined;
  /** Most files of the page, up to 1000. @default 1000 */
  readonly limit?: number;
}

/** A bucket that can be listed, as R2 can: for a copy of all files, or for a look at what it has. */
export interface ListedBucket extends MediaBucket {
  list(options?: ListOptions): Promise<ListedFiles>;
}

/**
 * Checks the name of a file, for buckets whose names are paths or addresses.
 *
 * @throws {TypeError} for a name that is empty, longer than 1024 bytes, leads elsewhere by its dots, or has what can't be seen
 */
export function checkKey(key: string): void {
  const bytes = new TextEncoder().encode(key).byteLength;
  const isPath = key.split("/").every((part) => part !== "" && part !== "." && part !== "..");
  if (bytes > 1024 || !isPath || /[\p{Cc}\p{Cs}\\]/u.test(key))
    throw new TypeError("a file can't have this name");
}

/** Returns the name of a file in the bucket. */
export function keyOf(id: string): string {
  return `media/${id}`;
}

/** A file or an unfinished upload in the bucket. */
export interface StoredName {
  readonly id: string;
  readonly uploadId: string | null;
}

/** R2's code of an upload that is not there: it was ended before, or its parts were put together. */
const NO_SUCH_UPLOAD = "10024";

/** The files that the bucket may still have, because it failed, and one of the errors that it failed with. */
interface Left<File> {
  readonly left: ReadonlySet<File>;
  readonly cause?: unknown;
}

/** Deletes files and unfinished uploads from the bucket. One that is gone already is no fault. */
export async function removeFiles<File extends StoredName>(
  bucket: MediaBucket | undefined,
  files: readonly File[],
): Promise<Left<File>> {
  if (!bucket) throw new TypeError("media: its binding to the bucket is missing");
  if (files.length === 0) return { left: new Set() };
  // parts take space until their upload is ended
  const ended = await Promise.allSettled(files.map((file) => endUpload(bucket, file)));
  try {
    await bucket.delete(files.map(({ id }) => keyOf(id)));
  } catch (cause) {
    return { left: new Set(files), cause };
  }
  const failed = ended.find(({ status }) => status === "rejected");
  const left = files.filter((_, at) => ended[at]?.status === "rejected");
  return { left: new Set(left), cause: failed?.status === "rejected" ? failed.reason : undefined };
}

async function endUpload(bucket: MediaBucket, { id, uploadId }: StoredName): Promise<void> {
  if (uploadId === null) return;
  try {
    await bucket.resumeMultipartUpload(keyOf(id), uploadId).abort();
  } catch (error) {
    if (!String(error).includes(NO_SUCH_UPLOAD)) throw error;
  }
}
