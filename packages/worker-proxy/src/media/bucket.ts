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

/** A binding to an R2 bucket, `env.MEDIA`. */
export interface MediaBucket {
  put(key: string, value: ReadableStream<Uint8Array>, options: StoreOptions): Promise<unknown>;
  get(key: string, options: { range: Headers }): Promise<StoredFile | null>;
  head(key: string): Promise<StoredFile | null>;
  delete(keys: string[]): Promise<void>;
  createMultipartUpload(key: string, options: StoreOptions): Promise<MultipartUpload>;
  resumeMultipartUpload(key: string, uploadId: string): MultipartUpload;
}

/** Returns the name of a file in the bucket. */
export function keyOf(id: string): string {
  return `media/${id}`;
}

/** Deletes files and unfinished uploads from the bucket. One that is gone already is no fault. */
export async function removeFiles(
  bucket: MediaBucket | undefined,
  files: readonly { readonly id: string; readonly uploadId: string | null }[],
): Promise<void> {
  if (files.length === 0) return;
  if (!bucket) throw new TypeError("media: its binding to the bucket is missing");
  const open = files.filter(({ uploadId }) => uploadId !== null);
  await Promise.all(
    open.map(({ id, uploadId }) =>
      bucket
        .resumeMultipartUpload(keyOf(id), uploadId as string)
        .abort()
        .catch(() => {}),
    ),
  );
  await bucket.delete(files.map(({ id }) => keyOf(id)));
}
