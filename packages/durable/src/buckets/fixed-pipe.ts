/** The platform's pipe that counts. */
type FixedLengthStreams = new (bytes: number) => TransformStream<Uint8Array, Uint8Array>;

/**
 * Opens a pipe for a known number of bytes, which fails where another number comes. R2 takes only the platform's own pipe;
 * elsewhere the bytes are counted here.
 */
export function openFixedPipe(bytes: number): TransformStream<Uint8Array, Uint8Array> {
  const { FixedLengthStream } = globalThis as { FixedLengthStream?: FixedLengthStreams };
  if (FixedLengthStream) return new FixedLengthStream(bytes);
  let left = bytes;
  const createError = () => new TypeError(`${bytes - left} bytes came where ${bytes} were announced`);
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      left -= piece.byteLength;
      if (left < 0) throw createError();
      controller.enqueue(piece);
    },
    flush() {
      if (left > 0) throw createError();
    },
  });
}
