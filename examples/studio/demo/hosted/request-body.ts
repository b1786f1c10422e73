const bodies = new WeakMap<Request, ReadableStream<Uint8Array>>();

/** Gives requests a `body` in browsers whose requests have none, such as Firefox: a server reads it. */
export function addRequestBodies(): void {
  if ("body" in Request.prototype) return;
  Object.defineProperty(Request.prototype, "body", {
    configurable: true,
    get(this: Request) {
      if (this.method === "GET" || this.method === "HEAD") return null;
      const body = bodies.get(this) ?? createStream(this);
      bodies.set(this, body);
      return body;
    },
  });
}

/** Reads the body at the first read of the stream. Before it, other code can read the request. */
function createStream(request: Request): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const bytes = new Uint8Array(await request.arrayBuffer());
        if (bytes.byteLength > 0) controller.enqueue(bytes);
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}
