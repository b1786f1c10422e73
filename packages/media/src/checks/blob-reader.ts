import { type Bytes, readBytes } from "@sluice/core/internal/media";

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

    const bytes = await readBytes(blob, start, Math.min(Math.max(to, start + WINDOW), size), signal);
    held = bytes;
    heldFrom = start;
    return bytes.subarray(0, to - start);
  }
}
