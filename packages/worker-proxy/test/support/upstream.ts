import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request as it reached the gateway. */
export interface Recorded {
  readonly method: string;
  readonly url: string;
  /** Names and values in turn, nothing joined or lower-cased. */
  readonly rawHeaders: readonly string[];
  readonly body: string;
  /** Resolves when the connection has gone before the response was complete. */
  readonly hungUp: Promise<unknown>;
}

type Script = (response: ServerResponse, request: Recorded) => void;

/** A gateway on a real socket that responds as the test sets, and records its requests. */
export async function startUpstream() {
  const requests: Recorded[] = [];
  let script: Script = ok;
  let arrive: () => void = () => {};
  let arrived = new Promise<void>((resolve) => {
    arrive = resolve;
  });

  const server = createServer(async (request, response) => {
    if (request.url === "/tests/arrived") {
      await arrived;
      response.end("yes");
      return;
    }
    const hungUp = new Promise((resolve) =>
      response.on("close", () => response.writableEnded || resolve("hung up")),
    );
    const recorded = { ...(await readRecord(request)), hungUp };
    requests.push(recorded);
    script(response, recorded);
    arrive();
  });
  // an idle connection may close while the proxy sends its next request, which then fails
  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    arrived: () => arrived,
    /** Clears the requests, and sets the response to the next ones. */
    respondWith(next: Script = ok) {
      requests.length = 0;
      script = next;
      arrived = new Promise((resolve) => {
        arrive = resolve;
      });
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function readRecord(request: IncomingMessage) {
  let body = "";
  for await (const chunk of request.setEncoding("utf8")) body += chunk;
  const { method = "", url = "", rawHeaders } = request;
  return { method, url, rawHeaders, body };
}

export const ok: Script = (response) => {
  response.writeHead(200, { "content-type": "application/json" }).end('{"id":"1"}');
};

/** A response with this status, these headers and this text. */
export function reply(status: number, headers: Record<string, string | string[]>, text = ""): Script {
  return (response) => response.writeHead(status, headers).end(text);
}

export const chunk = (text: string) => `data: {"choices":[{"delta":{"content":"${text}"}}]}\n\n`;
export const finish = 'data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n';
export const done = "data: [DONE]\n\n";
