/** Those who listen to one object over SSE. */
export interface Subscribers<Listener> {
  readonly count: number;
  /** An event stream that begins with `opening` and, unless it `isOver`, goes on with what is told. */
  add(listener: Listener, signal: AbortSignal, opening: string, isOver: boolean): Response;
  /** Tells each what `textFor` makes for it. */
  tell(textFor: (listener: Listener) => string): void;
  /** Stops all streams, after what they were told. */
  close(): void;
}

/** Shorter than the idle timers on the way, of this proxy and of clients: 60 seconds. */
const KEEP_ALIVE_MS = 25_000;
/** Who has not read so much is dropped; it can come back and goes on from there. */
const PENDING_BYTES = 64 * 1024;

export function createSubscribers<Listener>(): Subscribers<Listener> {
  const streams = new Map<ReadableStreamDefaultController<Uint8Array>, Listener>();
  const encoder = new TextEncoder();
  let timer: ReturnType<typeof setInterval> | undefined;

  return {
    get count() {
      return streams.size;
    },
    add,
    tell,
    close,
  };

  function add(listener: Listener, signal: AbortSignal, opening: string, isOver: boolean): Response {
    const body = new ReadableStream<Uint8Array>(
      {
        start(stream) {
          // the comment makes the headers leave at once, even if there is nothing to say yet
          stream.enqueue(encoder.encode(`:\n\n${opening}`));
          if (isOver) return stream.close();
          streams.set(stream, listener);
          timer ??= setInterval(() => tell(() => ":\n\n"), KEEP_ALIVE_MS);
          // a client that has gone is reported here, and nowhere else
          signal.addEventListener("abort", () => leave(stream));
          if (signal.aborted) leave(stream);
        },
      },
      { highWaterMark: PENDING_BYTES, size: (bytes) => bytes?.byteLength ?? 0 },
    );
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  }

  function tell(textFor: (listener: Listener) => string): void {
    for (const [stream, listener] of streams)
      if ((stream.desiredSize ?? 0) > 0) stream.enqueue(encoder.encode(textFor(listener)));
      else {
        leave(stream);
        // unlike closing it, this drops what it has not read
        stream.error(new Error("too slow"));
      }
  }

  function close(): void {
    for (const stream of streams.keys()) {
      leave(stream);
      stream.close();
    }
  }

  function leave(stream: ReadableStreamDefaultController<Uint8Array>): void {
    streams.delete(stream);
    if (streams.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  }
}
