import { type Client, ConfigurationError, type MediaUploader } from "@sluice/core";

/** A request that may have files instead of URLs. */
export type WithFiles<Request> = Request extends Blob
  ? Request
  : Request extends object
    ? {
        readonly [Field in keyof Request]: Field extends "url"
          ? Request[Field] | Blob
          : Field extends "image"
            ? Request[Field] | readonly (string | Blob)[]
            : WithFiles<Request[Field]>;
      }
    : Request;

/** Returns true if a request contains a file. */
export function hasFiles(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return value instanceof Blob || Object.values(value).some(hasFiles);
}

/**
 * Loads the code for requests with files.
 *
 * @throws {ConfigurationError} if the client lacks an uploader
 */
export async function loadUploadCode(client: Client) {
  getUploader(client);
  return import("./in-request.js");
}

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
