/*
 * Makes streams resumable in a Service Worker while it runs. Each stream and each of its events has an id, and a reader
 * can start after any event. On a server, `resumableStreams()` of `@sluice/durable` does this.
 */

/** A response of the model, with the events that have arrived. */
interface StoredStream {
  readonly events: string[];
  isComplete: boolean;
  /** Called after each event, and at the end. */
  readonly waiting: Set<() => void>;
}

type Fetch = (request: Request) => Promise<Response>;

const CUT = "[[cut]]";
/** Number of events after which the connection of `[[cut]]` breaks. */
const CUT_AFTER = 8;

/** Stores the streams of a gateway. A prompt with `[[cut]]` breaks the connection to the page once, not the stream. */
export function storeStreams(fetch: Fetch): Fetch {
  const streams = new Map<string, StoredStream>();
  return async (request) => {
    const [, id] = /\/v1\/chat\/streams\/([\w-]+)$/.exec(new URL(request.url).pathname) ?? [];
    if (id !== undefined) return resume(request, streams.get(id));
    const text = request.method === "POST" ? await request.clone().text() : "";
    const isCut = text.includes(CUT);
    // the emulator refuses an unknown fault
    const response = await fetch(isCut ? new Request(request, { body: text.replaceAll(CUT, "") }) : request);
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
    return response.body && isStream ? begin(response.body, isCut) : response;
  };

  function begin(body: ReadableStream<Uint8Array>, isCut: boolean): Response {
    const stream: StoredStream = { events: [], isComplete: false, waiting: new Set() };
    const id = crypto.randomUUID();
    streams.set(id, stream);
    void record(body, stream);
    return createResponse(stream, 0, { "x-stream-id": id }, isCut ? CUT_AFTER : undefined);
  }
}

function resume(request: Request, stream: StoredStream | undefined): Response {
  if (!stream) return Response.json({ error: { message: "this stream is unknown" } }, { status: 404 });
  if (request.method === "DELETE") return new Response(null, { status: 204 });
  return createResponse(stream, Number(request.headers.get("last-event-id")), {});
}

/** Reads the gateway's stream to its end, even if every reader disconnects. */
async function record(body: ReadableStream<Uint8Array>, stream: StoredStream): Promise<void> {
  let rest = "";
  try {
    const decoder = new TextDecoder();
    for await (const chunk of body) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
      rest = parts.pop() ?? "";
      stream.events.push(...parts);
      notify(stream);
    }
  } finally {
    stream.isComplete = true;
    notify(stream);
  }
}

function notify(stream: StoredStream): void {
  const waiting = [...stream.waiting];
  stream.waiting.clear();
  for (const resolve of waiting) resolve();
}

function createResponse(
  stream: StoredStream,
  from: number,
  headers: HeadersInit,
  cutAfter?: number,
): Response {
  let at = from;
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (at === cutAfter) return controller.error(new TypeError("the connection broke"));
      while (at >= stream.events.length && !stream.isComplete)
        await new Promise<void>((resolve) => stream.waiting.add(resolve));
      const event = stream.events[at];
      if (event === undefined) return controller.close();
      at += 1;
      controller.enqueue(encoder.encode(`id: ${at}\n${event}\n\n`));
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream", ...headers } });
}
