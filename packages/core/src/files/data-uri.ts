import { assertBlob, readBytes } from "./bytes.js";
import { findFormat, HEAD_BYTES, signedTypes } from "./signatures.js";

/** Progress of {@link toDataURI}. */
export interface EncodeProgress {
  /** Bytes read so far. */
  readonly loadedBytes: number;
  /** Size of the file in bytes. */
  readonly totalBytes: number;
}

/** Options of {@link toDataURI}. */
export interface DataURIOptions {
  /** Aborts the encoding. */
  readonly signal?: AbortSignal;
  /** Called after each piece, and the last time with `loadedBytes === totalBytes`. */
  readonly onProgress?: (progress: EncodeProgress) => void;
  /** MIME type of the data URI. @default the type of the blob, or of its first bytes */
  readonly type?: string;
}

/** A multiple of 3 bytes is a whole number of Base64 groups, so the pieces join without padding. */
const PIECE_BYTES = 3 * 131_072;
/** Number of arguments that every engine accepts in one call. */
const MAX_ARGUMENTS = 32_766;

/**
 * Encodes a blob as a Base64 data URI, for the fields that accept one: image parts of a chat, `image` of image models,
 * images of video models, `URL` of an asset. Encodes in pieces, so that the page stays responsive and an abort takes
 * effect.
 *
 * @throws {ValidationError} if `blob` is not a `Blob` or is no longer readable; the signal's reason after an abort
 * @example
 * ```ts
 * const url = await toDataURI(file, { onProgress: ({ loadedBytes, totalBytes }) => show(loadedBytes / totalBytes) });
 * const content = [{ type: "text", text: "What is this?" }, { type: "image_url", image_url: { url } }] as const;
 * ```
 */
export async function toDataURI(
  blob: Blob,
  { signal, onProgress, type }: DataURIOptions = {},
): Promise<string> {
  assertBlob(blob);
  const mimeType = type ?? (blob.type || (await readSignedType(blob, signal)) || "application/octet-stream");
  const pieces = [`data:${mimeType};base64,`];
  signal?.throwIfAborted();
  for (let start = 0; start < blob.size; start += PIECE_BYTES) {
    const end = Math.min(start + PIECE_BYTES, blob.size);
    pieces.push(encodeBase64(await readBytes(blob, start, end, signal)));
    onProgress?.({ loadedBytes: end, totalBytes: blob.size });
  }
  return pieces.join("");
}

/**
 * Detects the MIME type from the first bytes of a blob; undefined for formats without a signature.
 *
 * @example
 * ```ts
 * const type = (await readSignedType(file)) ?? file.type;
 * ```
 */
export async function readSignedType(blob: Blob, signal?: AbortSignal): Promise<string | undefined> {
  const format = findFormat(await readBytes(blob, 0, HEAD_BYTES, signal));
  return format && signedTypes[format];
}

function encodeBase64(bytes: Uint8Array & { toBase64?: () => string }): string {
  if (bytes.toBase64) return bytes.toBase64();
  const encoded: string[] = [];
  for (let start = 0; start < bytes.length; start += MAX_ARGUMENTS) {
    // `apply` reads the array directly. The spread operator uses its iterator, which is four times slower
    const piece = bytes.subarray(start, start + MAX_ARGUMENTS) as unknown as number[];
    encoded.push(btoa(String.fromCharCode.apply(null, piece)));
  }
  return encoded.join("");
}
