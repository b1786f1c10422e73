import type { BodyWriter, Bytes } from "./http.js";

/** End of a body: read to its end, aborted by the reader, or broken by the emulator. */
export type BodyEnd = "finished" | "aborted" | "broken";

const encoder = new TextEncoder();

/**
 * Creates a response body that makes a piece only when the reader pulls one. It fails when `request` aborts, as a body
 * from the network does, and stops its source when it is cancelled.
 *
 * @param write makes the pieces; its signal aborts when the reader has left
 */
export function pulledBody(
  request: { readonly signal: AbortSignal },
  write: BodyWriter,
  onEnd: (end: BodyEnd) => void,
): ReadableStream<Bytes> {
  const gone = new AbortController();
  const pieces = write(gone.signal);
  let detach = () => {};

  return new ReadableStream({ start, pull, cancel }, { highWaterMark: 0 });

  function start(controller: ReadableStreamDefaultController) {
    // the closure holds the request: platforms drop the signal of a request that nothing holds
    const abort = () => {
      controller.error(request.signal.reason);
      leave(request.signal.reason);
    };
    if (request.signal.aborted) return abort();
    request.signal.addEventListener("abort", abort);
    detach = () => request.signal.removeEventListener("abort", abort);
  }

  async function pull(controller: ReadableStreamDefaultController) {
    try {
      const { done, value } = await pieces.next();
      if (gone.signal.aborted) return;
      if (!done) return controller.enqueue(typeof value === "string" ? encoder.encode(value) : value);
      end("finished");
      controller.close();
    } catch (error) {
      if (gone.signal.aborted) return;
      end("broken");
      controller.error(error);
    }
  }

  function cancel(reason: unknown) {
    leave(reason);
  }

  function leave(reason: unknown) {
    end("aborted");
    gone.abort(reason);
    // the signal ends a generator that waits for its clock; one that waits for a pull needs `return`
    pieces.return(undefined).catch(() => {});
  }

  function end(how: BodyEnd) {
    detach();
    onEnd(how);
  }
}
