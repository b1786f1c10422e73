import type { Bucket } from "../../buckets/bucket.js";

/** Returns the name of a file in the bucket. */
export function toBucketKey(id: string): string {
  return `media/${id}`;
}

/** A file or an unfinished upload in the bucket. */
export interface StoredName {
  readonly id: string;
  readonly uploadId: string | null;
}

/** R2's code for an upload that does not exist: it was aborted before, or its parts were put together. */
const NO_SUCH_UPLOAD = "10024";

/** The files that the bucket may still have because it failed, and one of its errors. */
export interface Undeleted<File> {
  readonly left: ReadonlySet<File>;
  readonly cause?: unknown;
}

/** Deletes files and unfinished uploads from the bucket. It can be repeated: a file that is gone already is no fault. */
export async function deleteFromBucket<File extends StoredName>(
  bucket: Bucket,
  files: readonly File[],
): Promise<Undeleted<File>> {
  if (files.length === 0) return { left: new Set() };
  // parts take space until their upload is aborted
  const aborted = await Promise.allSettled(files.map((file) => abortUpload(bucket, file)));
  try {
    await bucket.delete(files.map(({ id }) => toBucketKey(id)));
  } catch (cause) {
    return { left: new Set(files), cause };
  }
  const failed = aborted.find(({ status }) => status === "rejected");
  const left = files.filter((_, at) => aborted[at]?.status === "rejected");
  return { left: new Set(left), cause: failed?.status === "rejected" ? failed.reason : undefined };
}

async function abortUpload(bucket: Bucket, { id, uploadId }: StoredName): Promise<void> {
  if (uploadId === null) return;
  try {
    await bucket.resumeMultipartUpload(toBucketKey(id), uploadId).abort();
  } catch (error) {
    if (!String(error).includes(NO_SUCH_UPLOAD)) throw error;
  }
}
