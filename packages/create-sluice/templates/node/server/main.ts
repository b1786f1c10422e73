import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream as NodeStream } from "node:stream/web";
import { answer } from "./answer.ts";
import type { Env } from "./proxy.ts";

const port = Number(process.env["PORT"] || 8787);
const host = process.env["HOST"] || "127.0.0.1";

const server = createServer((incoming, outgoing) => {
  serve(incoming, outgoing).catch((error: unknown) => {
    // a client that leaves ends its answer
    if (outgoing.destroyed) return;
    console.error(error);
    outgoing.destroy();
  });
});
server.listen(port, host, () => {
  const { port: taken } = server.address() as AddressInfo;
  console.log(`The server listens on http://${host}:${taken}/api`);
});
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => server.close());

async function serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const client = new AbortController();
  outgoing.once("close", () => client.abort());
  // the rest of a body that was refused: until it is read, the connection has no next request
  outgoing.once("finish", () => incoming.unpipe().resume());
  const env = process.env as unknown as Env;
  const response = await answer(requestFrom(incoming, client.signal), env);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body) await pipeline(Readable.fromWeb(response.body as NodeStream), outgoing);
  else outgoing.end();
}

function requestFrom(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = "GET", url = "/", headers } = incoming;
  const list = Object.entries(headers).flatMap(([name, value]) =>
    [value ?? []].flat().map((one): [string, string] => [name, one]),
  );
  const hasBody = method !== "GET" && method !== "HEAD";
  return new Request(new URL(url, `http://${headers.host ?? host}`), {
    method,
    headers: list,
    signal,
    ...(hasBody && { body: bodyOf(incoming), duplex: "half" }),
  });
}

/**
 * The body of a request. Its end leaves the connection open for the answer. `Readable.toWeb` does not, and throws where
 * nobody can catch it if more comes after that end.
 */
function bodyOf(incoming: IncomingMessage): BodyInit {
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
