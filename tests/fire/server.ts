import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";

/** One request, and the connection on which the response is written byte by byte, however wrong the response is. */
export interface Wire {
  /** Number of earlier requests on this connection. */
  readonly nth: number;
  /** Reads the whole body. Before this call, the server reads nothing of it. */
  body(): Promise<string>;
  /** Writes; resolves to false if the client has closed the connection. */
  write(bytes: string | Uint8Array): Promise<boolean>;
  /** Writes the same bytes repeatedly while the client reads them. */
  flood(bytes: string, times: number): Promise<void>;
  /** Waits until the client has fetched `/seen`: by then it has read everything written so far. */
  seen(): Promise<void>;
  /** Writes, and closes the connection. */
  end(bytes?: string | Uint8Array): void;
  /** Resets the connection. */
  reset(): void;
}

/** Responds to a request, or fails instead. */
export type Script = (wire: Wire) => unknown;

interface Received {
  /** `POST /v1/chat/completions` */
  readonly line: string;
  /** Headers by their names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

const open = "access-control-allow-origin: *\r\n";
const preflight = `HTTP/1.1 204 No Content\r\n${open}access-control-allow-headers: *, authorization\r\n\r\n`;
const signedResponse = `HTTP/1.1 200 OK\r\n${open}content-length: 0\r\nconnection: close\r\n\r\n`;

/** A gateway that is only a socket. It responds to preflights itself, so that pages of any origin can send to it. */
export async function startFire() {
  const requests: Received[] = [];
  const sockets = new Set<Socket>();
  let closings: Promise<unknown>[] = [];
  let script: Script = (wire) => wire.end();
  let written = 0;
  let see = () => {};
  let seen = Promise.resolve();
  let arrive = () => {};
  let arrived = Promise.resolve();

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.setNoDelay(true).on("error", () => {});
    void respondToAll(socket).catch(() => socket.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");

  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    /** Forgets all, and responds to the next requests so. */
    setScript(next: Script) {
      for (const socket of sockets) socket.destroy();
      requests.length = 0;
      closings = [];
      written = 0;
      script = next;
      seen = new Promise((resolve) => {
        see = resolve;
      });
      arrived = new Promise((resolve) => {
        arrive = resolve;
      });
    },
    /** Number of bytes that were given to the system since the last `setScript`. */
    written: () => written,
    /**
     * Waits until the connections of all requests since then are closed. A browser may open a second one where the first
     * takes long, and keeps it without a request.
     */
    closed: () => Promise.all(closings),
    close() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };

  async function respondToAll(socket: Socket): Promise<void> {
    for (let nth = 0; ; ) {
      const head = await readHead(socket);
      if (head === undefined) return;
      const { line, headers } = head;
      if (line.startsWith("OPTIONS")) socket.write(preflight);
      else if (line.endsWith("/seen")) {
        socket.end(signedResponse);
        see();
      } else if (line.endsWith("/arrived")) {
        // respond once the request has arrived
        await arrived;
        socket.end(signedResponse);
      } else {
        requests.push(head);
        if (nth === 0) closings.push(new Promise((resolve) => socket.on("close", resolve)));
        arrive();
        const wire = createWire(socket, nth, Number(headers["content-length"] ?? 0));
        await script(wire);
        await wire.body();
        nth += 1;
      }
    }
  }

  function createWire(socket: Socket, nth: number, length: number): Wire {
    let body: Promise<string> | undefined;
    const wire: Wire = {
      nth,
      body() {
        body ??= readExactly(socket, length);
        return body;
      },
      write: (bytes) =>
        new Promise((resolve) => {
          socket.write(bytes, (error) => {
            if (!error) written += Buffer.byteLength(bytes);
            resolve(!error);
          });
        }),
      async flood(bytes, times) {
        for (let nth = 0; nth < times && (await wire.write(bytes)); nth += 1);
      },
      seen: () => seen,
      end: (bytes = "") => void socket.end(bytes),
      reset: () => void socket.resetAndDestroy(),
    };
    return wire;
  }
}

/** Waits until there is more to read. Resolves to false at the end. */
async function readable(socket: Socket): Promise<boolean> {
  if (socket.readableEnded || socket.destroyed) return false;
  const waiting = new AbortController();
  const events = ["readable", "end", "close"].map((event) => once(socket, event, waiting));
  await Promise.race(events).finally(() => waiting.abort());
  return !socket.readableEnded && !socket.destroyed;
}

async function readHead(socket: Socket): Promise<Received | undefined> {
  let received = Buffer.alloc(0);
  for (;;) {
    const piece: Buffer | null = socket.read();
    if (piece === null) {
      if (!(await readable(socket))) return undefined;
      continue;
    }
    received = Buffer.concat([received, piece]);
    const end = received.indexOf("\r\n\r\n");
    if (end === -1) continue;
    socket.unshift(received.subarray(end + 4));
    const [start = "", ...lines] = received.toString("latin1", 0, end).split("\r\n");
    const headers = lines.map((line) => [
      line.slice(0, line.indexOf(":")).toLowerCase(),
      line.slice(line.indexOf(":") + 1).trim(),
    ]);
    return { line: start.replace(/ HTTP.*$/, ""), headers: Object.fromEntries(headers) };
  }
}

async function readExactly(socket: Socket, length: number): Promise<string> {
  const pieces: Buffer[] = [];
  for (let missing = length; missing > 0; ) {
    const piece: Buffer | null = socket.read(Math.min(missing, Math.max(socket.readableLength, 1)));
    if (piece) {
      pieces.push(piece);
      missing -= piece.length;
    } else if (!(await readable(socket))) break;
  }
  return Buffer.concat(pieces).toString();
}
