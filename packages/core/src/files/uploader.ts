import type { Client } from "../client.js";
import type { MediaUploader } from "../media-uploader.js";
import { ConfigurationError } from "../vocabulary/errors.js";

/**
 * Returns the client's uploader for a request with files.
 *
 * @throws {ConfigurationError} if the client has none
 */
export function getUploader({ uploads }: Pick<Client, "uploads">): MediaUploader {
  if (uploads) return uploads;
  throw new ConfigurationError(
    "a file can't be uploaded: the client has no `uploads`. Set createClient({ uploads: uploads() }) with uploads() of @sluice/media, or give the file's address",
  );
}
