/** Bytes that own their buffer. The declaration also fits a TypeScript without a type parameter of `Uint8Array`. */
export type OwnBytes = Uint8Array & { readonly buffer: ArrayBuffer };

/**
 * Collects pieces of bytes in one buffer. A list of pieces also keeps the buffer of each piece, which can be a thousand
 * times larger than the piece.
 *
 * @param expected size that the sender announced; the buffer grows only as bytes arrive
 * @example
 * ```ts
 * const bytes = collectBytes();
 * for await (const piece of file.stream()) bytes.add(piece);
 * const whole = bytes.take();
 * ```
 */
export function collectBytes(expected = 0) {
  let room = new Uint8Array(0);
  let size = 0;
  return {
    get size() {
      return size;
    },
    add(piece: Uint8Array): void {
      const needed = size + piece.byteLength;
      if (needed > room.byteLength) {
        // few new buffers where the size is known: each costs its pages anew
        const larger = new Uint8Array(Math.max(needed, Math.min(expected, 16 * needed), 2 * room.byteLength));
        larger.set(room.subarray(0, size));
        room = larger;
      }
      room.set(piece, size);
      size = needed;
    },
    /** All of it, until something is added or taken. */
    view: (): OwnBytes => room.subarray(0, size),
    /** Takes the first `end` bytes out, as a copy; the rest stays. @default all of it */
    take(end = size): OwnBytes {
      const taken = room.slice(0, end);
      room.copyWithin(0, end, size);
      size -= end;
      return taken;
    },
  };
}

/** The largest read of a body, in bytes. Without a size workerd reads 4 KB, and uses six times the CPU. */
export const READ_BYTES = 64 * 1024;

/** The first read: most bodies are smaller, and room costs, too. */
const FIRST_BYTES = 4096;

/** Reads a stream in pieces as large as the platform has them, up to `maxBytes`, for which it holds room. */
export function openPieces(body: ReadableStream<Uint8Array>, maxBytes = READ_BYTES) {
  const reader = getReader(body);
  let room = new Uint8Array(Math.min(maxBytes, FIRST_BYTES));
  return {
    /** Returns the next bytes, which are valid until the next call; undefined at the end. */
    async next(): Promise<Uint8Array | undefined> {
      const { done, value } = await reader.read(room);
      if (done || !value) return undefined;
      const { byteLength, buffer } = value;
      const isLarger = byteLength === buffer.byteLength && byteLength < Math.min(maxBytes, READ_BYTES);
      room = isLarger ? new Uint8Array(Math.min(maxBytes, READ_BYTES)) : new Uint8Array(buffer);
      return value;
    },
    cancel(): void {
      reader.cancel().catch(() => {});
    },
  };
}

/** A reader for both kinds of stream: the reader of a stream made in JavaScript ignores the buffer. */
function getReader(body: ReadableStream<Uint8Array>) {
  try {
    return body.getReader({ mode: "byob" });
  } catch {
    return body.getReader() as unknown as ReadableStreamBYOBReader;
  }
}

/** Creates a pipe. The identity stream of workerd runs without a queue and without a step in JavaScript. */
export function openPipe(): TransformStream<Uint8Array, Uint8Array> {
  const { IdentityTransformStream: Pipe = TransformStream } = globalThis as {
    IdentityTransformStream?: typeof TransformStream;
  };
  return new Pipe<Uint8Array, Uint8Array>();
}
