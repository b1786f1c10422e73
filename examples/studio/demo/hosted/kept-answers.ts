/*
 * Makes answers resumable in a Service Worker, for as long as it runs: each answer has an id, each of its events too, and
 * a reader can begin behind any event. `resumableStreams()` of `@sluice/durable` does it on a server.
 */

/** An answer of the model, as far as it has come. */
interface Kept {
  readonly events: string[];
  isOver: boolean;
  /** Called when there is another event, or none will come. */
  readonly waiting: Set<() => void>;
}

type Fetch = (request: Request) => Promise<Response>;

const CUT = "[[cut]]";
/** Number of events after which an answer to `[[cut]]` loses its connection. */
const CUT_AFTER = 8;

/** Keeps the streams of a gateway. A prompt with `[[cut]]` breaks the connection to the page once, not the answer. */
export function keepAnswers(fetch: Fetch): Fetch {
  const kept = new Map<string, Kept>();
  return async (request) => {
    const [, id] = /\/v1\/chat\/streams\/([\w-]+)$/.exec(new URL(request.url).pathname) ?? [];
    if (id !== undefined) return resume(request, kept.get(id));
    const text = request.method === "POST" ? await request.clone().text() : "";
    const isCut = text.includes(CUT);
    // the emulator refuses a scene that it does not have
    const response = await fetch(isCut ? new Request(request, { body: text.replaceAll(CUT, "") }) : request);
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream");
    return response.body && isStream ? begin(response.body, isCut) : response;
  };

  function begin(body: ReadableStream<Uint8Array>, isCut: boolean): Response {
    const answer: Kept = { events: [], isOver: false, waiting: new Set() };
    const id = crypto.randomUUID();
    kept.set(id, answer);
    void record(body, answer);
    return streamOf(answer, 0, { "x-stream-id": id }, isCut ? CUT_AFTER : undefined);
  }
}

function resume(request: Request, answer: Kept | undefined): Response {
  if (!answer) return Response.json({ error: { message: "there is no such stream" } }, { status: 404 });
  if (request.method === "DELETE") return new Response(null, { status: 204 });
  return streamOf(answer, Number(request.headers.get("last-event-id")), {});
}

/** Reads the gateway's answer to its end, whatever becomes of its readers. */
async function record(body: ReadableStream<Uint8Array>, answer: Kept): Promise<void> {
  let rest = "";
  try {
    const decoder = new TextDecoder();
    for await (const chunk of body) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split("\n\n");
      rest = parts.pop() ?? "";
      answer.events.push(...parts);
      notify(answer);
    }
  } finally {
    answer.isOver = true;
    notify(answer);
  }
}

function notify(answer: Kept): void {
  const waiting = [...answer.waiting];
  answer.waiting.clear();
  for (const goOn of waiting) goOn();
}

function streamOf(answer: Kept, from: number, headers: HeadersInit, cutAfter?: number): Response {
  let at = from;
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      if (at === cutAfter) return controller.error(new TypeError("the connection broke"));
      while (at >= answer.events.length && !answer.isOver)
        await new Promise<void>((goOn) => answer.waiting.add(goOn));
      const event = answer.events[at];
      if (event === undefined) return controller.close();
      at += 1;
      controller.enqueue(encoder.encode(`id: ${at}\n${event}\n\n`));
    },
  });
  return new Response(body, { headers: { "content-type": "text/event-stream", ...headers } });
}
