import { type DirectParts, keyOf, type UploadedPart } from "./bucket.js";
import type { FileRow } from "./file-rows.js";
import { type MediaSettings, partMsOf } from "./options.js";
import { mediaRefusal, stored } from "./refusals.js";

/*
 * Parts that a page puts into the bucket itself. The first part goes through the proxy, which reads the type from it and
 * reserves the space of the whole file. Number and size of each further part are signed, and a bucket has one part of each
 * number: it never has more than is counted, however often an address is used.
 */

/** Size of each part of an upload but the last, in bytes: R2 wants at least 5 MiB, and all alike. */
export const PART_BYTES = 8_388_608;

/** Longest time in which an address that was signed works, in milliseconds. */
const VALID_MS = 300_000;

/** The next part of an upload. */
export function nextPartOf({ received, bytes, parts }: FileRow) {
  const known = JSON.parse(parts) as readonly UploadedPart[];
  const size = Math.min(bytes, received + PART_BYTES) - received;
  // a part that is stored, and could not be noted, is replaced by the next attempt
  return { partNumber: (known.at(-1)?.partNumber ?? 0) + 1, bytes: size };
}

/** Facts about a part that the bucket has not taken from a page, for an event. */
export interface DirectRefusal {
  readonly code: `direct_${string}`;
  /** Status of the bucket's answer. */
  readonly upstreamStatus?: number;
}

/**
 * Reads the reason for which a page sends a part through the proxy: `unsigned`, `unreachable`, `missing` or `refused` with
 * the status. It is the page's word: nothing depends on it.
 */
export function directRefusalIn(text: string): DirectRefusal | undefined {
  const [, reason, status] = /^(?:(unsigned|unreachable|missing)|refused ([1-5]\d\d))$/.exec(text) ?? [];
  if (reason) return { code: `direct_${reason}` };
  return status ? { code: "direct_refused", upstreamStatus: Number(status) } : undefined;
}

/** Signs the address for the next part of an upload. */
export function signedPart<Env>(
  direct: DirectParts,
  row: FileRow,
  settings: MediaSettings<Env>,
): Promise<string> {
  const validMs = Math.min(VALID_MS, partMsOf(settings));
  const part = { ...nextPartOf(row), validMs };
  return stored(() => direct.sign(keyOf(row.id), row.uploadId as string, part));
}

/**
 * Finds the next part of an upload in the bucket.
 *
 * @throws {Refusal} 409 `part_missing` where it is not there, or has another size
 */
export async function putPart(direct: DirectParts, row: FileRow): Promise<UploadedPart> {
  const { partNumber, bytes } = nextPartOf(row);
  const found = await direct.find(keyOf(row.id), row.uploadId as string, partNumber);
  if (found?.size !== bytes) throw mediaRefusal("part_missing");
  return { partNumber, etag: found.etag };
}

/**
 * Reads all parts of an upload from the bucket. An address may have been used again since its part was noted.
 *
 * @throws {Error} where they are not those of the file
 */
export async function allParts(direct: DirectParts, row: FileRow): Promise<UploadedPart[]> {
  const parts = await direct.list(keyOf(row.id), row.uploadId as string);
  const count = Math.ceil(row.bytes / PART_BYTES);
  const areRight = parts.every(
    ({ partNumber, size }, at) =>
      partNumber === at + 1 && size === Math.min(PART_BYTES, row.bytes - at * PART_BYTES),
  );
  if (parts.length !== count || !areRight)
    throw new Error("the parts in the bucket are not those of the file");
  return parts.map(({ partNumber, etag }) => ({ partNumber, etag }));
}
