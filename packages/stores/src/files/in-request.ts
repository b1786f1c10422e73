import type { Client } from "@sluice/core";
import { getUploader } from "./request-files.js";

/* Loaded for requests with files. */

/** Returns a copy of a request with `replace` applied to each file. */
function mapFiles(value: unknown, replace: (file: Blob) => string): unknown {
  if (value instanceof Blob) return replace(value);
  if (Array.isArray(value)) return value.map((item) => mapFiles(item, replace));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, mapFiles(item, replace)]));
}

/** URL that replaces a file while a request is checked. */
const PLACEHOLDER = "https://file.invalid/";

/** Returns a request with a placeholder URL for each file, to check it before an upload. */
export const replaceFiles = <Request>(request: Request): Request =>
  mapFiles(request, () => PLACEHOLDER) as Request;

/**
 * Uploads the files of a request one after the other, and returns the request with their URLs. A file that is used twice
 * is uploaded once.
 *
 * @param onProgress called with the share of all bytes that is uploaded, from 0 to 1
 * @throws {ConfigurationError} if the client lacks an uploader
 * @throws the errors of the uploader
 */
export async function uploadFiles<Request>(
  client: Client,
  request: Request,
  signal: AbortSignal,
  onProgress: (share: number) => void,
): Promise<Request> {
  const uploader = getUploader(client);
  const files = new Map<Blob, string>();
  mapFiles(request, (file) => {
    files.set(file, "");
    return "";
  });
  const total = [...files.keys()].reduce((sum, { size }) => sum + size, 0);
  let done = 0;
  for (const file of files.keys()) {
    const { url } = await uploader.upload(client, file, {
      signal,
      onProgress: ({ loadedBytes }) => onProgress((done + loadedBytes) / total),
    });
    done += file.size;
    files.set(file, url);
  }
  return mapFiles(request, (file) => files.get(file) as string) as Request;
}
