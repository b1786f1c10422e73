import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

/** A request as it reached the gateway. */
export interface RawRequest {
  /** `POST /v1/chat/completions` */
  readonly line: string;
  /** Headers by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into the body
  readonly body: any;
  /** Resolves when the proxy has closed this connection. */
  readonly closed: Promise<void>;
}

/** Writes a response byte by byte, however wrong it is. */
export type RawResponse = (socket: Socket, request: RawRequest) => void;

/** Starts a gateway on a bare socket, so that it can send bytes that are not HTTP. It reads one request per connection. */
export async function startRawGateway() {
  const requests: RawRequest[] = [];
  const sockets = new Set<Socket>();
  let script: RawResponse = reply(json('{"id":"1"}'));
  let notify = () => {};

  const server = createServer((socket) => {
    sockets.add(socket);
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    closed.then(() => sockets.delete(socket));
    socket.on("error", () => {});
    let received = "";
    socket.setEncoding("utf8").on("data", (piece: string) => {
      received += piece;
      const request = readRequest(received);
      if (!request) return;
      received = "";
      const whole = { ...request, closed };
      requests.push(whole);
      notify();
      script(socket, whole);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    /** Returns the number of open connections of the proxy. */
    open: () => sockets.size,
    /** Clears the requests, and sets the response to the next ones. */
    respondWith(next: RawResponse) {
      requests.length = 0;
      script = next;
    },
    /** Waits until so many requests have come since the last `respondWith`. */
    async arrived(count: number): Promise<void> {
      while (requests.length < count)
        await new Promise<void>((resolve) => {
          notify = resolve;
        });
    },
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

/** Returns the first request in the received bytes; undefined until it is complete. */
function readRequest(received: string): Omit<RawRequest, "closed"> | undefined {
  const [head = "", ...rest] = received.split("\r\n\r\n");
  if (rest.length === 0) return undefined;
  const [start = "", ...lines] = head.split("\r\n");
  const headers = Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.indexOf(":")).toLowerCase(),
      line.slice(line.indexOf(":") + 1).trim(),
    ]),
  );
  const sent = rest.join("\r\n\r\n");
  let text = sent;
  if (headers["transfer-encoding"] === "chunked") {
    if (!sent.endsWith("0\r\n\r\n")) return undefined;
    text = joinChunks(sent);
  } else if (Buffer.byteLength(sent) < Number(headers["content-length"] ?? 0)) return undefined;
  return {
    line: start.replace(/ HTTP.*$/, ""),
    headers,
    text,
    body: text === "" ? undefined : JSON.parse(text),
  };
}

function joinChunks(sent: string): string {
  const bytes = Buffer.from(sent);
  const parts: Buffer[] = [];
  for (let at = 0; ; ) {
    const end = bytes.indexOf("\r\n", at);
    const size = Number.parseInt(bytes.toString("latin1", at, end), 16);
    if (size === 0) return Buffer.concat(parts).toString();
    parts.push(bytes.subarray(end + 2, end + 2 + size));
    at = end + 2 + size + 2;
  }
}

/** Writes this text and closes. */
export function reply(text: string | Buffer): RawResponse {
  return (socket) => socket.end(text);
}

/** A response of this status and type, with its right length. */
export function createResponse(status: number, type: string, body: string, more = ""): string {
  const length = Buffer.byteLength(body);
  return `HTTP/1.1 ${status} Said\r\nContent-Type: ${type}\r\nContent-Length: ${length}\r\nConnection: close\r\n${more}\r\n${body}`;
}

export const json = (body: string) => createResponse(200, "application/json", body);

/** The head of an event stream that ends where the connection does. */
export const streamHead = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";

/** A whole event stream. */
export const streamed = (...events: string[]) => reply(streamHead + events.join(""));

/** An event of a chat with this text. */
export const createPiece = (content: string, index = 0) =>
  `data: ${JSON.stringify({ id: "c", choices: [{ index, delta: { content }, finish_reason: null }] })}\n\n`;
export const stopped = (index = 0) =>
  `data: ${JSON.stringify({ id: "c", choices: [{ index, delta: {}, finish_reason: "stop" }] })}\n\n`;
export const used = (total: number | null) =>
  `data: ${JSON.stringify({ id: "c", choices: [], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: total } })}\n\n`;
export const done = "data: [DONE]\n\n";
