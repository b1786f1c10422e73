import { type ClientOptions, createClient, streamResumption } from "@sluice/core";
import { streamResponse } from "./gateway.js";

const encoder = new TextEncoder();

/**
 * End of a connection. `end`: as after a complete response. `drop`: an error. `silence`: no more bytes, and no end.
 * `upstream_cut`: the error event of the proxy.
 */
export type Ending = "end" | "drop" | "silence" | "upstream_cut";

/** A connection that delivers `bytes` of the requested response, and then ends as `ending`. */
export interface Cut {
  readonly bytes: number;
  readonly ending: Ending;
}

/** A request without a connection: its error response, or the error of `fetch`. */
type Refused = Response | Error;

/**
 * Creates a client of a proxy that stores a response. The first connection is the chat request's; later ones resume the
 * response. The connections are cut by `cuts`, in turn, and later ones are whole.
 */
export function serveStored(
  events: readonly string[],
  cuts: readonly (Cut | Refused)[],
  options: Partial<ClientOptions> = {},
) {
  const connections = [...cuts];
  const requests: Request[] = [];
  const client = createClient({
    baseURL: "https://gateway.test",
    random: () => 0,
    resume: streamResumption(),
    fetch: async (request) => {
      requests.push(request);
      if (request.method === "DELETE") return new Response(null, { status: 204 });
      const cut = connections.shift();
      if (cut instanceof Error) throw cut;
      if (cut instanceof Response) return cut;
      return openConnection(events, Number(request.headers.get("last-event-id")), cut);
    },
    ...options,
  });
  return { client, requests, attempts: () => requests.map(describeRequest) };
}

/** Writes the events of a stored response with their ids, after the event `lastEventId`. */
export function addIds(events: readonly string[], lastEventId = 0): string {
  return events
    .map((event, nth) => `id: ${nth + 1}\n${event}`)
    .slice(lastEventId)
    .join("");
}

function openConnection(events: readonly string[], lastEventId: number, cut: Cut | undefined): Response {
  const bytes = encoder.encode(addIds(events, lastEventId));
  const pieces = [bytes.slice(0, cut?.bytes ?? bytes.length)].filter(({ length }) => length > 0);
  if (cut?.ending === "upstream_cut") pieces.push(encoder.encode(writeError("upstream_cut")));
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const piece = pieces.shift();
        if (piece) controller.enqueue(piece);
        else if (cut?.ending === "drop") controller.error(new TypeError("terminated"));
        else if (cut?.ending === "silence") return new Promise(() => {});
        else controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  const response = streamResponse(body);
  response.headers.set("x-stream-id", "s-1");
  return response;
}

/** An error event inside a stream, as the proxy writes it. */
export function writeError(code: string): string {
  return `\n\nevent: error\ndata: {"error":{"message":"the answer is over","code":"${code}"}}\n\n`;
}

/** Describes a request: `POST`, `GET`, `GET after 3` (the last event id), `DELETE`. */
function describeRequest({ method, headers }: Request): string {
  const lastEventId = headers.get("last-event-id");
  return lastEventId === null ? method : `${method} after ${lastEventId}`;
}
