import { misconfigured } from "@sluice/worker-proxy/internal";

/**
 * Checks that the platform reports clients that leave: without its flag a signal never aborts, and closed tabs would
 * count as readers.
 *
 * @throws {Refusal} 500 `misconfigured`
 */
export function checkLeavingIsReported(): void {
  const { Cloudflare } = globalThis as { Cloudflare?: { compatibilityFlags?: Record<string, boolean> } };
  if (Cloudflare?.compatibilityFlags?.["enable_request_signal"] === false)
    throw misconfigured("durable: set the compatibility flag enable_request_signal");
}

/** The platform's pipe that counts. */
type FixedLengthStreams = new (bytes: number) => TransformStream<Uint8Array, Uint8Array>;

/**
 * Opens a pipe for a known number of bytes, and fails where others come: R2 takes no stream without a length. Elsewhere the
 * bytes are counted here.
 */
export function openPipeOf(bytes: number): TransformStream<Uint8Array, Uint8Array> {
  const { FixedLengthStream } = globalThis as { FixedLengthStream?: FixedLengthStreams };
  if (FixedLengthStream) return new FixedLengthStream(bytes);
  let left = bytes;
  const wrong = () => new TypeError(`${bytes - left} bytes came where ${bytes} were announced`);
  return new TransformStream<Uint8Array, Uint8Array>({
    transform(piece, controller) {
      left -= piece.byteLength;
      if (left < 0) throw wrong();
      controller.enqueue(piece);
    },
    flush() {
      if (left > 0) throw wrong();
    },
  });
}
