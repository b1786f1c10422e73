import { ValidationError } from "../vocabulary/errors.js";

/** Bytes that own their memory. An inferred type, because `Uint8Array` takes no type argument before TypeScript 5.7. */
export type Bytes = ReturnType<Uint8ArrayConstructor["from"]>;

/** Size of one read. Large enough that many small headers need only one. */
const WINDOW = 65_536;

/** Reads parts of a blob, never the whole blob. */
export interface BlobReader {
  readonly size: number;
  /** Reads the bytes from `start` to `end`; fewer where the blob ends before. */
  read(start: number, end: number): Promise<Bytes>;
}

/** Creates a reader that keeps the last part it read. */
export function readerOf(blob: Blob, signal: AbortSignal | undefined): BlobReader {
  const { size } = blob;
  let heldFrom = 0;
  let held: Bytes = new Uint8Array();
  return { size, read };

  async function read(start: number, end: number): Promise<Bytes> {
    const to = Math.min(end, size);
    if (start >= to) return new Uint8Array();
    if (start >= heldFrom && to <= heldFrom + held.length)
      return held.subarray(start - heldFrom, to - heldFrom);

    const bytes = await bytesOf(blob, start, Math.min(Math.max(to, start + WINDOW), size), signal);
    held = bytes;
    heldFrom = start;
    return bytes.subarray(0, to - start);
  }
}

/** Reads one slice of a blob. Throws the signal's reason, or a {@link ValidationError} if the blob cannot be read. */
export async function bytesOf(
  blob: Blob,
  start: number,
  end: number,
  signal: AbortSignal | undefined,
): Promise<Bytes> {
  signal?.throwIfAborted();
  const buffer = await sliceOf(blob, start, end).catch(unreadable);
  signal?.throwIfAborted();
  return new Uint8Array(buffer);
}

/** Returns a promise even if `slice` itself throws. */
async function sliceOf(blob: Blob, start: number, end: number): Promise<ArrayBuffer> {
  return blob.slice(start, end).arrayBuffer();
}

function unreadable(error: unknown): never {
  const message = `can't be read (${error}); it may have changed since it was chosen: choose it again`;
  throw new ValidationError([{ path: "", message, rule: "media.unreadable" }]);
}

/** Refuses a value that is not a blob. The usual mistake is an empty file input: `input.files[0]` is then undefined. */
export function assertBlob(blob: unknown): asserts blob is Blob {
  const { size, slice } = (blob ?? {}) as Partial<Blob>;
  if (typeof size === "number" && typeof slice === "function") return;
  const message = `must be a Blob or a File, got ${blob === null ? "null" : typeof blob}; was a file chosen?`;
  throw new ValidationError([{ path: "", message, rule: "media.blob" }]);
}

/** Views the same bytes as numbers of more than one byte. */
export function viewOf({ buffer, byteOffset, byteLength }: Bytes): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** Returns true if the bytes at `at` are `text`. */
export function hasText(bytes: Uint8Array, at: number, text: string): boolean {
  return textAt(bytes, at, text.length) === text;
}

/** Reads the bytes from `at` on as text, one character each. The text is shorter where the bytes end. */
export function textAt(bytes: Uint8Array, at: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + length));
}
