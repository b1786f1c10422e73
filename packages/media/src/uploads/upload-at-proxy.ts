import { APIError, ResponseError } from "@sluice/core";
import { isRecord, parseJSON } from "@sluice/core/extend";

/** State of an upload in a response of the proxy. */
export interface UploadAtProxy {
  readonly id: string;
  /** Number of stored bytes, from the start of the file. */
  readonly offset: number;
  /** URL of a complete file. */
  readonly url?: string;
  /** End of the URL, or of the incomplete upload, in Unix milliseconds. */
  readonly expiresAt?: number;
  /** MIME type of a complete file. */
  readonly type?: string;
}

/**
 * Parses a response about the upload of a file.
 *
 * @throws {ResponseError} if the id is missing, or the offset is outside of the file
 */
export function parseUpload(text: string, size: number): UploadAtProxy {
  const json = parseJSON(text);
  const createMismatch = (problem: string, path: string) =>
    new ResponseError(`the response to the upload ${problem}`, { path, body: text.slice(0, 8192) });
  if (!isRecord(json) || !isUploadId(json.id)) throw createMismatch("has no id", "id");
  const { id, offset, url, expiresAt, type } = json;
  if (!isOffset(offset, size))
    throw createMismatch(
      `has the offset ${JSON.stringify(offset)}, and the file has ${size} bytes`,
      "offset",
    );
  return {
    id,
    offset,
    ...(typeof url === "string" && url !== "" && { url }),
    ...(Number.isFinite(expiresAt) && { expiresAt: expiresAt as number }),
    ...(typeof type === "string" && { type }),
  };
}

/** Checks an id, which becomes a segment of a URL: no dots that lead out of the path. */
export function isUploadId(id: unknown): id is string {
  return typeof id === "string" && /^[\w-][\w.~-]{0,199}$/.test(id);
}

function isOffset(offset: unknown, size: number): offset is number {
  return Number.isInteger(offset) && (offset as number) >= 0 && (offset as number) <= size;
}

/** Returns true if the proxy does not serve uploads. */
export function isClosedRoute(error: unknown): error is APIError {
  return error instanceof APIError && error.source === "proxy" && error.code === "not_found";
}
