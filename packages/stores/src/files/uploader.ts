import { type Client, ConfigurationError, type MediaUploader } from "@sluice/core";

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
