import type { BodyWriter, Bytes } from "./http.js";

/** End of a body: read to its end, aborted by the reader, or broken by the emulator. */
export type BodyEnd = "finished" | "aborted" | "broken";

const encoder = new TextEncoder();

/**
 * Creates a response body that writes a chunk only when the reader pulls. It fails when `request` aborts, as a body
 * from the network does, and stops its source when it is cancelled.
 *
 * @param write writes the chunks; its signal aborts when the reader disconnects
 */
export function createPulledBody(
  request: { readonly signal: AbortSignal },
  write: BodyWriter,
  onEnd: (end: BodyEnd) => void,
): ReadableStream<Bytes> {
  const disconnected = new AbortController();
  const pieces = write(disconnected.signal);
  let detach = () => {};

  return new ReadableStream({ start, pull, cancel }, { highWaterMark: 0 });

  function start(controller: ReadableStreamDefaultController) {
    // the closure references the request: platforms drop the signal of an unreferenced request
    const abort = () => {
      controller.error(request.signal.reason);
      abandon(request.signal.reason);
    };
    if (request.signal.aborted) return abort();
    request.signal.addEventListener("abort", abort);
    detach = () => request.signal.removeEventListener("abort", abort);
  }

  async function pull(controller: ReadableStreamDefaultController) {
    try {
      const { done, value } = await pieces.next();
      if (disconnected.signal.aborted) return;
      if (!done) return controller.enqueue(typeof value === "string" ? encoder.encode(value) : value);
      end("finished");
      controller.close();
    } catch (error) {
      if (disconnected.signal.aborted) return;
      end("broken");
      controller.error(error);
    }
  }

  function cancel(reason: unknown) {
    abandon(reason);
  }

  function abandon(reason: unknown) {
    end("aborted");
    disconnected.abort(reason);
    // the signal ends a generator that waits for its clock; `return` ends a generator that waits for a pull
    pieces.return(undefined).catch(() => {});
  }

  function end(bodyEnd: BodyEnd) {
    detach();
    onEnd(bodyEnd);
  }
}
