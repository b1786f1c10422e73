import { readBytes } from "@sluice/core/files";

/** Bytes that own their memory. */
export type Bytes = Awaited<ReturnType<typeof readBytes>>;

/** Minimum bytes of one read, so that many small headers need only one. */
const MIN_READ_BYTES = 65_536;

/** Reads parts of a blob, never the whole blob. */
export interface BlobReader {
  readonly size: number;
  /** Reads the bytes from `start` to `end`, or to the end of the blob. */
  read(start: number, end: number): Promise<Bytes>;
}

/** Creates a reader that caches the last part it read. */
export function createBlobReader(blob: Blob, signal: AbortSignal | undefined): BlobReader {
  const { size } = blob;
  let cachedFrom = 0;
  let cached: Bytes = new Uint8Array();
  return { size, read };

  async function read(start: number, end: number): Promise<Bytes> {
    const readEnd = Math.min(end, size);
    if (start >= readEnd) return new Uint8Array();
    if (start >= cachedFrom && readEnd <= cachedFrom + cached.length)
      return cached.subarray(start - cachedFrom, readEnd - cachedFrom);

    const cacheEnd = Math.min(Math.max(readEnd, start + MIN_READ_BYTES), size);
    const bytes = await readBytes(blob, start, cacheEnd, signal);
    cached = bytes;
    cachedFrom = start;
    return bytes.subarray(0, readEnd - start);
  }
}

/** Creates a view of the same bytes, to read larger numbers. */
export function createView({ buffer, byteOffset, byteLength }: Bytes): DataView {
  return new DataView(buffer, byteOffset, byteLength);
}

/** Reads bytes as text, one character each. The text is shorter if the bytes end early. */
export function readASCII(bytes: Bytes, offset: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(offset, offset + length));
}
