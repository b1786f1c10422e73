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

/**
 * Deletes files and unfinished uploads from the bucket. It can be repeated: a file that is gone already is no fault. Returns
 * the files that the bucket may still have because it failed, and one of its errors.
 */
export async function deleteFromBucket(bucket: Bucket, files: readonly StoredName[]) {
  if (files.length === 0) return { left: files, cause: undefined };
  const left: StoredName[] = [];
  let cause: unknown;
  // parts take space until their upload is aborted
  const abort = (file: StoredName) =>
    abortUpload(bucket, file).catch((error: unknown) => {
      left.push(file);
      cause = error;
    });
  await Promise.all(files.map(abort));
  try {
    await bucket.delete(files.map(({ id }) => toBucketKey(id)));
    return { left, cause };
  } catch (error) {
    return { left: files, cause: error };
  }
}

async function abortUpload(bucket: Bucket, { id, uploadId }: StoredName): Promise<void> {
  if (uploadId === null) return;
  try {
    await bucket.resumeMultipartUpload(toBucketKey(id), uploadId).abort();
  } catch (error) {
    if (!String(error).includes(NO_SUCH_UPLOAD)) throw error;
  }
}
