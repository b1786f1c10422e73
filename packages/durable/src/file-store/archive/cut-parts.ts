import { refuseFile } from "../files/refusals.js";

/**
 * Cuts a body into parts of one size; the last one may be shorter. One part is in memory at a time.
 *
 * @throws {Refusal} 400 `upload_cut` where the body breaks off, or the signal ends it
 */
export async function* cutParts(
  body: ReadableStream<Uint8Array>,
  partBytes: number,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  const reader = body.getReader();
  // ends a read that waits
  const stop = () => void reader.cancel(signal.reason).catch(() => {});
  signal.addEventListener("abort", stop);
  let part = new Uint8Array(partBytes);
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await readPiece(reader, signal);
      if (done || !value) break;
      for (let at = 0; at < value.byteLength; ) {
        const piece = value.subarray(at, at + partBytes - size);
        part.set(piece, size);
        size += piece.byteLength;
        at += piece.byteLength;
        if (size < partBytes) continue;
        yield part;
        part = new Uint8Array(partBytes);
        size = 0;
      }
    }
    if (size > 0) yield part.slice(0, size);
  } finally {
    signal.removeEventListener("abort", stop);
    await reader.cancel().catch(() => {});
  }
}

async function readPiece(reader: ReadableStreamDefaultReader<Uint8Array>, signal: AbortSignal) {
  try {
    const piece = await reader.read();
    signal.throwIfAborted();
    return piece;
  } catch (cause) {
    throw refuseFile("upload_cut", { cause });
  }
}
