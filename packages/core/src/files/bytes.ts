import { ValidationError } from "../types/errors.js";

/**
 * Bytes that own their memory. The type is inferred, because `Uint8Array` has no type parameter before TypeScript 5.7.
 */
type Bytes = ReturnType<Uint8ArrayConstructor["from"]>;

/**
 * Reads one slice of a blob.
 *
 * @throws {ValidationError} for a value that is not a blob, and for a blob that cannot be read
 * @throws the signal's reason
 * @example
 * ```ts
 * const head = await readBytes(file, 0, 512, undefined);
 * ```
 */
export async function readBytes(
  blob: Blob,
  start: number,
  end: number,
  signal: AbortSignal | undefined,
): Promise<Bytes> {
  assertBlob(blob);
  signal?.throwIfAborted();
  const buffer = await readSlice(blob, start, end).catch(throwUnreadable);
  signal?.throwIfAborted();
  return new Uint8Array(buffer);
}

/** Rejects even if `slice` itself throws. */
async function readSlice(blob: Blob, start: number, end: number): Promise<ArrayBuffer> {
  return blob.slice(start, end).arrayBuffer();
}

function throwUnreadable(error: unknown): never {
  const message = `can't be read (${error}); it may have changed since it was chosen: choose it again`;
  throw new ValidationError([{ path: "", message, rule: "media.unreadable" }]);
}

/**
 * Rejects a value that is not a blob. The usual mistake is an empty file input, whose `input.files[0]` is undefined.
 *
 * @throws {ValidationError} for any other value
 */
export function assertBlob(blob: unknown): asserts blob is Blob {
  const { size, slice } = (blob ?? {}) as Partial<Blob>;
  if (typeof size === "number" && typeof slice === "function") return;
  const message = `must be a Blob or a File, got ${blob === null ? "null" : typeof blob}; was a file chosen?`;
  throw new ValidationError([{ path: "", message, rule: "media.blob" }]);
}

/** Creates a view of the same bytes, to read numbers of several bytes. */
export function createView({ buffer, byteOffset, byteLength }: Uint8Array): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** Returns true if the bytes from `offset` are `text`. */
export function hasText(bytes: Uint8Array, offset: number, text: string): boolean {
  return readASCII(bytes, offset, text.length) === text;
}

/** Reads bytes as text, one character each. The text is shorter if the bytes end early. */
export function readASCII(bytes: Uint8Array, offset: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(offset, offset + length));
}
