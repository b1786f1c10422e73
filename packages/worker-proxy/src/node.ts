import type { IncomingMessage, ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as NodeStream } from "node:stream/web";
import { logError } from "./refusals/log.js";

/** Responds to a request: the proxy, or more around it. */
type Respond = (request: Request) => Response | Promise<Response>;

/**
 * Turns a function from `Request` to `Response` into a handler of `node:http`, for a server of your own, Express and
 * others. Deno and Bun run it, too.
 *
 * - The request's `signal` aborts when its client leaves before the end of the response.
 * - Headers are sent at once, before the first byte of a body. A client that reads slowly holds the body back.
 * - A body that breaks off closes the connection, so that the client sees a cut, and not an end.
 * - The unread rest of a request is dropped.
 * - If `respond` throws, the client gets 500, and the log has the cause. A request with an invalid host, method or header
 *   gets 400.
 *
 * @example
 * ```ts
 * import { createServer } from "node:http";
 * import { createProxy } from "@sluice/worker-proxy";
 * import { toNodeHandler } from "@sluice/worker-proxy/node";
 * import { findUser } from "./sign-in.js"; // yours: who is asking, { id } or null
 *
 * const proxy = createProxy({
 *   baseURL: "https://gateway.example.com",
 *   apiKey: () => process.env["GATEWAY_API_KEY"],
 *   authenticate: (request) => findUser(request),
 *   origins: ["https://app.example.com"],
 *   models: ["delta-5.3"],
 * });
 * createServer(toNodeHandler((request) => proxy.fetch(request))).listen(8787);
 * ```
 */
export function toNodeHandler(
  respond: Respond,
): (incoming: IncomingMessage, outgoing: ServerResponse) => void {
  return (incoming, outgoing) => {
    const client = new AbortController();
    const leave = () => client.abort(new DOMException("The client has left.", "AbortError"));
    incoming.once("error", leave);
    outgoing.once("close", () => outgoing.writableFinished || leave());
    // a write after the end of the connection must not end the process
    outgoing.on("error", () => {});
    const request = createRequest(incoming, client.signal, () => outgoing.writableFinished);
    // the connection's next request comes after the rest of this body
    outgoing.once("finish", () => incoming.resume());
    if (!request) return void outgoing.writeHead(400).end();
    send(respond, request, outgoing).catch((error: unknown) => {
      logFailure(error, client.signal);
      if (outgoing.headersSent) outgoing.destroy();
      else outgoing.writeHead(500).end();
    });
  };
}

async function send(respond: Respond, request: Request, outgoing: ServerResponse): Promise<void> {
  const { status, headers, body } = await respond(request);
  outgoing.setHeaders(headers).writeHead(status).flushHeaders();
  if (!body || request.method === "HEAD") {
    outgoing.end();
    return await body?.cancel();
  }
  const source = Readable.fromWeb(body as NodeStream);
  // log it now: `pipeline` closes the connection, and then the signal says that the client has left
  source.once("error", (error) => logFailure(error, request.signal));
  await pipeline(source, outgoing);
}

function logFailure(error: unknown, { aborted: hasLeft }: AbortSignal): void {
  if (!hasLeft) logError(`node: a response failed: ${error instanceof Error ? error.stack : String(error)}`);
}

const HOST = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i;

/** Creates a `Request` from a request of Node. Returns undefined for an invalid host, method or header. */
function createRequest(
  incoming: IncomingMessage,
  signal: AbortSignal,
  isOver: () => boolean,
): Request | undefined {
  const { method = "GET", url = "", headers, headersDistinct, socket } = incoming;
  const { host = "localhost" } = headers;
  const isSecure = (socket as { encrypted?: boolean }).encrypted === true;
  const address = url.startsWith("/") ? `${isSecure ? "https" : "http"}://${host}${url}` : url;
  if (!HOST.test(host) || !/^https?:/i.test(address)) return undefined;
  const list = Object.entries(headersDistinct).map(([name, values = []]): [string, string] => [
    name,
    values.join(name === "cookie" ? "; " : ", "),
  ]);
  const body = method === "GET" || method === "HEAD" ? null : createBody(incoming, isOver);
  const init = { method, headers: list, body, signal, duplex: "half" };
  try {
    return new Request(address, init);
  } catch {
    return undefined;
  }
}

/** Creates the body of a request, and reads it piece by piece. Once it is canceled, it drops the rest of the data. */
function createBody(incoming: IncomingMessage, isOver: () => boolean): ReadableStream<Uint8Array> {
  let isDropped = false;
  return new ReadableStream({
    start(controller) {
      incoming.on("data", (piece: Uint8Array) => {
        if (isDropped || isOver()) return;
        controller.enqueue(piece);
        if ((controller.desiredSize ?? 0) <= 0) incoming.pause();
      });
      incoming.once("end", () => isDropped || controller.close());
      incoming.once("error", (error) => controller.error(error));
      incoming.pause();
    },
    pull: () => void incoming.resume(),
    cancel() {
      isDropped = true;
      incoming.resume();
    },
  });
}
