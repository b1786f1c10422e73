import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";

/** An emulator, a recorder or a replay. */
interface Handler {
  readonly fetch: (request: Request) => Promise<Response>;
}

/** Options of {@link serve}. */
interface ServeOptions {
  /** Port to listen on. 0 takes any free port. */
  readonly port: number;
  /** Address to listen on. @default "127.0.0.1", this machine only */
  readonly host?: string;
}

/** A server that {@link serve} started. */
export interface Served {
  /** URL of the server without a slash at its end, `http://127.0.0.1:8788`. */
  readonly url: string;
  /** Closes the port and every open connection. */
  readonly close: () => Promise<void>;
}

/**
 * Serves an emulator on a port of this machine, on Node. Writes a frame only after the previous frame was sent. A
 * client that disconnects aborts its request.
 *
 * @throws Error with the platform's `code`, `EADDRINUSE` if the port is chosenPort.
 * @example
 * ```ts
 * const served = await serve(createEmulator({ apiKeys: ["sk-test"] }), { port: 0 });
 * await fetch(served.url);
 * await served.close();
 * ```
 */
export async function serve(emulator: Handler, { port, host = "127.0.0.1" }: ServeOptions): Promise<Served> {
  const server = createServer((incoming, outgoing) => {
    // close the connection without a response, after a network fault, or when the client disconnected
    relay(emulator, incoming, outgoing).catch(() => outgoing.destroy());
  });
  // an idle timeout could close a connection while a busy client sends its next request
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const { address, family, port: chosenPort } = server.address() as AddressInfo;
  const url = `http://${family === "IPv6" ? `[${address}]` : address}:${chosenPort}`;
  return { url, close };

  function close() {
    return new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  }
}

async function relay(emulator: Handler, incoming: IncomingMessage, outgoing: ServerResponse) {
  const client = new AbortController();
  outgoing.once("close", () => {
    if (!outgoing.writableFinished) client.abort(new DOMException("The client disconnected.", "AbortError"));
  });
  // a write after the end must not end the process
  outgoing.on("error", () => {});
  // read the rest of a refused body: the connection accepts its next request only after it
  outgoing.once("finish", () => incoming.unpipe().resume());
  const response = await emulator.fetch(toRequest(incoming, client.signal));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  // send the headers at once, for a client that waits for the first event
  outgoing.flushHeaders();
  const body = response.body?.getReader();
  // a handler may ignore the request's signal
  const cancel = () => void body?.cancel(client.signal.reason).catch(() => {});
  if (client.signal.aborted) cancel();
  client.signal.addEventListener("abort", cancel);
  for (let read = await body?.read(); read && !read.done; read = await body?.read())
    await write(outgoing, read.value);
  outgoing.end();
}

function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = "GET", url = "/" } = incoming;
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers))
    for (const item of [value ?? []].flat()) headers.append(name, item);
  const address = new URL(`http://${readHost(incoming)}${url.startsWith("/") ? url : "/"}`);
  const hasBody = method !== "GET" && method !== "HEAD";
  const init = { method, headers, body: hasBody ? readBody(incoming) : null, signal, duplex: "half" };
  return new Request(address, init);
}

/**
 * Returns the body of a request. Its end leaves the connection open for the response. `Readable.toWeb` closes the
 * connection, and throws an uncaught error if more data follows.
 */
function readBody(incoming: IncomingMessage): ReadableStream<Uint8Array> {
  const body = incoming.pipe(new PassThrough());
  incoming.once("error", (error) => body.destroy(error));
  const pieces = body.on("error", () => {})[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(stream) {
      const { done, value } = await pieces.next();
      if (done) stream.close();
      else stream.enqueue(value);
    },
    cancel: () => void body.destroy(),
  });
}

/** Returns the host that the client used. URLs of files begin with it. */
function readHost({ headers: { host = "" }, socket }: IncomingMessage): string {
  const isHost = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i.test(host) && URL.canParse(`http://${host}`);
  return isHost ? host : `localhost:${socket.localPort}`;
}

/** Resolves when the operating system has the bytes, or when the connection is closed. */
function write(outgoing: ServerResponse, piece: Uint8Array): Promise<void> {
  return new Promise((resolve) => outgoing.write(piece, () => resolve()));
}
