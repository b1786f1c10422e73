/*
 * The part of R2's API that this package uses. The types are written out to avoid a dependency on a package of types.
 * Cloudflare's own types are compatible.
 */

interface StoreOptions {
  readonly httpMetadata: { readonly contentType: string };
}

/** A part of a multipart upload. R2 needs it to complete the upload. */
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

/** A file in the bucket. `head` returns it without `body`. */
export interface StoredFile {
  readonly size: number;
  readonly httpEtag: string;
  readonly httpMetadata?: { readonly contentType?: string | undefined } | undefined;
  readonly body?: ReadableStream<Uint8Array> | undefined;
}

/**
 * Storage for files: a binding to an R2 bucket, a `folderBucket`, an `s3Bucket`, or your own bucket. `bucketTests` of
 * `@sluice/durable/testing` checks your own bucket. A failed write stores nothing. A file of more than 8 MiB is stored
 * as a multipart upload: each value that a bucket receives has at most 8 MiB.
 */
export interface Bucket {
  put(key: string, value: ReadableStream<Uint8Array>, options: StoreOptions): Promise<unknown>;
  get(key: string, options: { range: Headers }): Promise<StoredFile | null>;
  head(key: string): Promise<StoredFile | null>;
  delete(keys: string[]): Promise<void>;
  createMultipartUpload(key: string, options: StoreOptions): Promise<MultipartUpload>;
  resumeMultipartUpload(key: string, uploadId: string): MultipartUpload;
}

/**
 * Validates the name of a file, for buckets that use it as a path or URL.
 *
 * @throws {TypeError} for a name that is empty or longer than 1024 bytes, or contains an empty segment, `.`, `..`, a
 * backslash, a control character or a lone surrogate
 */
export function checkKey(key: string): void {
  const bytes = new TextEncoder().encode(key).byteLength;
  const isPath = key.split("/").every((part) => part !== "" && part !== "." && part !== "..");
  if (bytes > 1024 || !isPath || /[\p{Cc}\p{Cs}\\]/u.test(key))
    throw new TypeError("a file can't have this name");
}

/** Constructor of the `FixedLengthStream` of Cloudflare Workers. */
type FixedLengthStreams = new (bytes: number) => TransformStream<Uint8Array, Uint8Array>;

/**
 * Opens a pipe for a known number of bytes. It fails if another number of bytes arrives. R2 accepts only the platform's
 * own pipe. On other platforms, the bytes are counted here.
 */
export function openFixedPipe(bytes: number): TransformStream<Uint8Array, Uint8Array> {
  const { FixedLengthStream } = globalThis as { FixedLengthStream?: FixedLengthStreams };
  if (FixedLengthStream) return new FixedLengthStream(bytes);
  let remaining = bytes;
  const createError = () => new TypeError(`${bytes - remaining} bytes came where ${bytes} were announced`);
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      remaining -= piece.byteLength;
      if (remaining < 0) throw createError();
      controller.enqueue(piece);
    },
    flush() {
      if (remaining > 0) throw createError();
    },
  });
}
