import { Refusal } from "@sluice/worker-proxy/plugin";
import { createRefusals } from "../../shared/create-refusals.js";

export const refuseFile = createRefusals({
  file_not_found: [404, "there is no such file, or it is not yours, or its link has expired", "not_found"],
  upload_type: [415, "send the file as content-type: application/octet-stream", "unsupported_media_type"],
  length_required: [411, "send a content-length"],
  file_too_large: [413, "the file is larger than {what} bytes"],
  range: [416, "the range lies beyond the end of the file", "range_not_satisfiable"],
  bytes_header: [400, "{what}: send a whole number of bytes", "invalid_request"],
  part_size: [400, "send exactly {what} bytes; a longer file needs upload-length and several requests"],
  upload_offset: [409, "continue at upload-offset: {what}"],
  upload_in_flight: [
    409,
    "another request sends this part; read the state of the upload, and continue at its offset",
  ],
  upload_cut: [400, "the file ended too early; continue at the offset of the upload"],
  file_type: [415, "files of this type are not accepted: {what}"],
  archive_request: [
    400,
    "send application/json with tasks or urls, lists of strings: 1 to {what} in total, in at most 256 KiB",
    "invalid_request",
  ],
  source_host: [403, "files may not be copied from {what}"],
  source_redirects: [403, "the URL of the file redirects too often"],
  source_failed: [502, "the file can't be fetched: {what}"],
  copy_cut: [502, "its last attempt was cut off"],
  storage_full: [413, "your files fill your space of {what} bytes; delete some"],
  too_many_files: [413, "you have {what} files; delete some"],
  media_unavailable: [503, "files can't be stored or read now; try again"],
});

export const refuseBucketFailure = (cause: unknown): Refusal =>
  refuseFile("media_unavailable", { problem: "fileStore: the bucket failed", cause });

/**
 * Runs a call of the bucket or the database.
 *
 * @throws {Refusal} 503 `media_unavailable` if the call fails. A refusal is rethrown
 */
export async function callStorage<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (cause) {
    if (cause instanceof Refusal) throw cause;
    throw refuseFile("media_unavailable", { problem: "fileStore: the bucket or the database failed", cause });
  }
}
