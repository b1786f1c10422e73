import type { Bucket as MediaBucket } from "../buckets/bucket.js";

export type {
  Bucket as MediaBucket,
  ListedBucket,
  ListedFile,
  ListedFiles,
  ListOptions,
  MultipartUpload,
  StoredFile,
  UploadedPart,
} from "../buckets/bucket.js";

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
