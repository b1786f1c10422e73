import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough } from "node:stream";

/** An emulator, a recorder or a replay: anything that answers requests. */
interface Handler {
  readonly fetch: (request: Request) => Promise<Response>;
}

/** Options of {@link serve}. */
interface ServeOptions {
  /** Port to listen on; 0 takes any free port. */
  readonly port: number;
  /** Address to listen on. @default "127.0.0.1", this machine only */
  readonly host?: string;
}

/** A server that {@link serve} started. */
export interface Served {
  /** Address of the server, `http://127.0.0.1:8788`, without a slash at its end. */
  readonly url: string;
  /** Closes the port and every open connection. */
  readonly close: () => Promise<void>;
}

/**
 * Serves an emulator on a port of this machine, on Node. Each frame is sent as it is made, and none is made before the
 * previous one has left. A client that disconnects aborts its request.
 *
 * @throws Error with the platform's `code`, `EADDRINUSE` if the port is taken.
 * @example
 * ```ts
 * const served = await serve(createEmulator({ apiKeys: ["sk-test"] }), { port: 0 });
 * await fetch(served.url);
 * await served.close();
 * ```
 */
export async function serve(emulator: Handler, { port, host = "127.0.0.1" }: ServeOptions): Promise<Served> {
  const server = createServer((incoming, outgoing) => {
    // without an answer (a network fault, a client that left) the connection is closed
    relay(emulator, incoming, outgoing).catch(() => outgoing.destroy());
  });
  // a busy client may send its next request while an idle connection is closed under it, and fail
  server.keepAliveTimeout = 0;
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, resolve);
  });
  const { address, family, port: taken } = server.address() as AddressInfo;
  const url = `http://${family === "IPv6" ? `[${address}]` : address}:${taken}`;
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
  // the rest of a body that was refused: until it is read, the connection has no next request
  outgoing.once("finish", () => incoming.unpipe().resume());
  const response = await emulator.fetch(requestFrom(incoming, client.signal));
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  // a client that waits for the first event knows that it is answered
  outgoing.flushHeaders();
  const body = response.body?.getReader();
  // a handler may leave the request's signal alone
  const cancel = () => void body?.cancel(client.signal.reason).catch(() => {});
  if (client.signal.aborted) cancel();
  client.signal.addEventListener("abort", cancel);
  for (let read = await body?.read(); read && !read.done; read = await body?.read())
    await sent(outgoing, read.value);
  outgoing.end();
}

function requestFrom(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = "GET", url = "/" } = incoming;
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers))
    for (const one of [value ?? []].flat()) headers.append(name, one);
  const address = new URL(`http://${hostOf(incoming)}${url.startsWith("/") ? url : "/"}`);
  const hasBody = method !== "GET" && method !== "HEAD";
  const init = { method, headers, body: hasBody ? bodyOf(incoming) : null, signal, duplex: "half" };
  return new Request(address, init);
}

/**
 * The body of a request. Its end leaves the connection open for the answer. `Readable.toWeb` does not, and throws where
 * nobody can catch it if more comes after that end.
 */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array> {
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

/** Host under which the client reached this server; URLs of files begin with it. */
function hostOf({ headers: { host = "" }, socket }: IncomingMessage): string {
  const isHost = /^(?:[\w.-]+|\[[\da-f:.]+\])(?::\d+)?$/i.test(host) && URL.canParse(`http://${host}`);
  return isHost ? host : `localhost:${socket.localPort}`;
}

/** Resolves when the operating system has the bytes, or the connection is gone. */
function sent(outgoing: ServerResponse, piece: Uint8Array): Promise<void> {
  return new Promise((resolve) => outgoing.write(piece, () => resolve()));
}
