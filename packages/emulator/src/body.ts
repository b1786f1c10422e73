import type { BodyWriter, Bytes } from "./http.js";

/** How a body ended: read to its end, given up by the reader, or broken from our side. */
export type BodyEnd = "finished" | "aborted" | "broken";

const encoder = new TextEncoder();

/**
 * A response body that makes a piece only when the reader asks for one, errors when `request` aborts (an
 * in-process `fetch` would otherwise go on, unlike a network), and stops its source when cancelled.
 *
 * @param write makes the pieces; its signal aborts when the reader is gone.
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
    // reads the signal through the request: platforms drop a request's signal once nothing holds the request
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
    // a generator that waits for its clock hears the signal; one that waits for a pull needs this
    pieces.return(undefined).catch(() => {});
  }

  function end(how: BodyEnd) {
    detach();
    onEnd(how);
  }
}
