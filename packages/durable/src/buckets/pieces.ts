import { collectBytes } from "@sluice/worker-proxy/plugin";

/** Bytes that do not share their buffer. */
type OwnBytes = ReturnType<ReturnType<typeof collectBytes>["take"]>;

interface Piece {
  readonly piece: OwnBytes;
  readonly isLast: boolean;
}

/** Reads a stream in pieces of `size` bytes. The last piece may be shorter. An empty stream yields one empty piece. */
export async function* cutPieces(
  content: ReadableStream<Uint8Array>,
  size: number,
): AsyncGenerator<Piece, void> {
  const reader = content.getReader();
  const bytes = collectBytes();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (value) bytes.add(value);
      while (bytes.size > size) yield { piece: bytes.take(size), isLast: false };
      if (done) return yield { piece: bytes.take(), isLast: true };
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Reads the start of a stream, up to `max` bytes. @default all bytes */
export async function readBytes(
  content: ReadableStream<Uint8Array>,
  max = Number.POSITIVE_INFINITY,
): Promise<OwnBytes> {
  for await (const { piece } of cutPieces(content, max)) return piece;
  return new Uint8Array();
}
