import { pickBetween, type Random } from "./random.js";

/**
 * Faults of a stored stream when a client continues it. `replays`: it sends everything again. `lacks an event`, `repeats
 * events`, `swaps events`: with their ids. `has no ids`: no event has an id.
 */
export const logFaults = [
  "replays",
  "lacks an event",
  "repeats events",
  "swaps events",
  "has no ids",
  "repeats one event",
] as const;
export type LogFault = (typeof logFaults)[number];

type Serve = (request: Request) => Promise<Response>;

/** Creates the layer between the tabs and the responses stored by the proxy. */
export function createStoredLog(random: Random, fault: LogFault | undefined) {
  let refusals = 0;
  return {
    /** Responds to the next requests with a 401. */
    refuse(count: number): void {
      refusals = count;
    },
    async serve(request: Request, respond: Serve): Promise<Response> {
      const isOfLog =
        request.method === "GET" && new URL(request.url).pathname.startsWith("/v1/chat/streams/");
      if (!isOfLog) return respond(request);
      if (refusals > 0) {
        refusals -= 1;
        return Response.json(
          { error: { message: "sign in again", code: "session_expired" } },
          { status: 401 },
        );
      }
      // a log is wrong now and then
      if (!fault || random() < 0.3) return respond(request);
      if (fault === "replays") return respond(readFromStart(request));
      const response = await respond(request);
      const { status, headers, body } = response;
      return status === 200 && body
        ? new Response(spoil(body, fault, random), { status, headers })
        : response;
    },
  };
}

function readFromStart(request: Request): Request {
  const headers = new Headers(request.headers);
  headers.delete("last-event-id");
  // a copy would follow the signal only until a garbage collection
  return Object.defineProperty(new Request(request, { headers }), "signal", { value: request.signal });
}

function spoil(
  body: ReadableStream<Uint8Array>,
  fault: LogFault,
  random: Random,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  const change = createChange(fault, random);
  let text = "";
  return new ReadableStream(
    {
      async pull(controller) {
        for (;;) {
          const { done, value } = await reader.read();
          if (done) return controller.close();
          const events = (text + decoder.decode(value, { stream: true })).split(/(?<=\n\n)/);
          text = events.at(-1)?.endsWith("\n\n") ? "" : (events.pop() ?? "");
          const changed = change(events).join("");
          if (changed) return controller.enqueue(encoder.encode(changed));
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** Returns the change of the events of one read. */
function createChange(fault: LogFault, random: Random): (events: readonly string[]) => readonly string[] {
  const at = pickBetween(random, 0, 4);
  let count = 0;
  let first: string | undefined;
  switch (fault) {
    case "lacks an event":
      return (events) => events.filter(() => count++ !== at);
    case "repeats events":
      return (events) => events.flatMap((each) => (random() < 0.5 ? [each, each] : [each]));
    case "swaps events":
      return (events) => (random() < 0.5 ? events.toReversed() : events);
    case "has no ids":
      return (events) => events.map((each) => each.replace(/^id: .*\n/m, ""));
    case "repeats one event":
      return (events) => events.map((each) => (first ??= each));
    default:
      return (events) => events;
  }
}
