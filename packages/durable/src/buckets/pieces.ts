import { collectBytes, type OwnBytes } from "@sluice/worker-proxy/plugin";

/** Reads a stream in pieces of `size` bytes. The last piece may be shorter. An empty stream yields one empty piece. */
export async function* cutPieces(
  content: ReadableStream<Uint8Array>,
  size: number,
): AsyncGenerator<OwnBytes, undefined> {
  const reader = content.getReader();
  const bytes = collectBytes();
  let isFirst = true;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (value) bytes.add(value);
      for (; bytes.size > size; isFirst = false) yield bytes.take(size);
      if (!done) continue;
      if (isFirst || bytes.size > 0) yield bytes.take();
      return;
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** Reads a whole stream. */
export async function readBytes(content: ReadableStream<Uint8Array>): Promise<OwnBytes> {
  return (await cutPieces(content, Number.POSITIVE_INFINITY).next()).value as OwnBytes;
}

/** Reads the start of a text, up to `max` bytes. */
export async function readStart(content: ReadableStream<Uint8Array> | null, max: number): Promise<string> {
  if (!content) return "";
  for await (const piece of cutPieces(content, max)) return new TextDecoder().decode(piece);
  return "";
}
