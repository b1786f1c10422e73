import { ResponseError } from "@sluice/core";
import { parseJSON } from "@sluice/core/internal";
import { excerpt } from "@sluice/core/internal/media";
import { isRecord } from "../checks/is-record.js";

/** State of an upload in an answer of the proxy. */
export interface UploadAtProxy {
  readonly id: string;
  /** Number of bytes that are stored, from the start of the file. */
  readonly offset: number;
  /** Address of a whole file; absent before. */
  readonly url?: string;
  /** End of the address, or of the time in which the upload can go on; Unix milliseconds. */
  readonly expiresAt?: number;
  /** MIME type of a whole file. */
  readonly type?: string;
}

/**
 * Reads an answer about the upload of a file.
 *
 * @throws {ResponseError} if it has no id, or an offset that the file can't have
 */
export function readUpload(text: string, size: number): UploadAtProxy {
  const json = parseJSON(text);
  const misfit = (problem: string, path: string) =>
    new ResponseError(`the answer to the upload ${problem}`, { path, body: excerpt(text) });
  if (!isRecord(json) || !isUploadId(json.id)) throw misfit("has no id", "id");
  const { id, offset, url, expiresAt, type } = json;
  if (!isOffset(offset, size))
    throw misfit(`has the offset ${JSON.stringify(offset)}, and the file has ${size} bytes`, "offset");
  return {
    id,
    offset,
    ...(typeof url === "string" && url !== "" && { url }),
    ...(Number.isFinite(expiresAt) && { expiresAt: expiresAt as number }),
    ...(typeof type === "string" && { type }),
  };
}

/** Checks an id, which becomes a part of an address: no dots that lead out of the path. */
export function isUploadId(id: unknown): id is string {
  return typeof id === "string" && /^[\w-][\w.~-]{0,199}$/.test(id);
}

function isOffset(offset: unknown, size: number): offset is number {
  return Number.isInteger(offset) && (offset as number) >= 0 && (offset as number) <= size;
}
