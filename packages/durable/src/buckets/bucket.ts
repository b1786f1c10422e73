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
 * Storage for files: a binding to an R2 bucket, a `folderBucket`, an `s3Bucket`, or your own, which `bucketTests` of
 * `@sluice/durable/testing` checks. A file is stored whole or not at all.
 */
export interface Bucket {
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
export interface ListedBucket extends Bucket {
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
