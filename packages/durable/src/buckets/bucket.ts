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

/** The platform's pipe that counts. */
type FixedLengthStreams = new (bytes: number) => TransformStream<Uint8Array, Uint8Array>;

/**
 * Opens a pipe for a known number of bytes, which fails where another number comes. R2 takes only the platform's own pipe;
 * elsewhere the bytes are counted here.
 */
export function openFixedPipe(bytes: number): TransformStream<Uint8Array, Uint8Array> {
  const { FixedLengthStream } = globalThis as { FixedLengthStream?: FixedLengthStreams };
  if (FixedLengthStream) return new FixedLengthStream(bytes);
  let left = bytes;
  const createError = () => new TypeError(`${bytes - left} bytes came where ${bytes} were announced`);
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      left -= piece.byteLength;
      if (left < 0) throw createError();
      controller.enqueue(piece);
    },
    flush() {
      if (left > 0) throw createError();
    },
  });
}
