import { randomBytes, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, isIPv6 } from "node:net";
import type { ObjectName } from "../keeper.js";
import { OwnerAbsent } from "../live-objects.js";
import {
  ABSENT,
  ANSWER,
  asHeader,
  type Forwarded,
  fromHeader,
  isRead,
  KEY,
  MOST_HEADER_BYTES,
  REQUEST,
  sendBody,
} from "./wire.js";

/** Place at which a process takes requests of the others for its objects. */
export interface DoorOptions {
  /**
   * Name or address of this machine by which the other processes reach it, in a network that is yours alone: what is
   * sent there is not encrypted. Needed where they run on several machines. @default "127.0.0.1", this machine only
   */
  readonly host?: string | undefined;
  /** @default 0, any free port */
  readonly port?: number | undefined;
}

/** An open door. */
export interface Door {
  /** The address, with the key of this door: to be kept where the other processes alone read it, and not to be logged. */
  readonly address: string;
  /** Closes the port and all connections. */
  close(): Promise<void>;
}

/** Answers a request for an object of this process. @throws {OwnerAbsent} where another process has it */
type Answer = (object: ObjectName, request: Request) => Promise<Response>;

/** A request as it came, and its way back. */
interface Visit {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
  /** Aborts when the asker leaves. */
  readonly signal: AbortSignal;
}

/** Time in which the headers of a request have to come, in milliseconds. */
const HEADERS_MS = 10_000;
/** Interval of signs of life until there is an answer, in milliseconds: shorter than an asker waits for one. */
const BEAT_MS = 5_000;

/**
 * Lets other processes ask for objects of this one. The key is drawn anew for each door: the address of a process that
 * has ended reaches nothing in the next one. Whoever has no key gets 404, whatever they ask.
 *
 * @throws {TypeError} for a host that names no machine
 * @throws {Error} with the platform's `code` where the port can't be had
 */
export async function openDoor(
  answer: Answer,
  { host = "127.0.0.1", port = 0 }: DoorOptions = {},
): Promise<Door> {
  if (host === "0.0.0.0" || host === "::")
    throw new TypeError(`host: ${host} is no address by which others reach this machine; give one that is`);
  const key = randomBytes(32).toString("base64url");
  // an idle connection is closed by the asker: no request is on its way then
  const limits = { maxHeaderSize: MOST_HEADER_BYTES, headersTimeout: HEADERS_MS, keepAliveTimeout: 0 };
  const server = createServer(limits, serve).on("checkContinue", serve);
  await listening(server, port, host);
  // a process that has nothing else to do may end
  server.unref();
  const { port: taken } = server.address() as AddressInfo;
  const address = `http://${isIPv6(host) ? `[${host}]` : host}:${taken}/#${key}`;
  return { address, close: () => closed(server) };

  function serve(incoming: IncomingMessage, outgoing: ServerResponse): void {
    // a write to an asker who has left must not end the process
    outgoing.on("error", () => {});
    if (!isEqual(String(incoming.headers[KEY]), key)) refuse(outgoing, 404);
    else visited(answer, incoming, outgoing).catch(() => outgoing.destroy());
  }
}

async function visited(answer: Answer, incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const asker = new AbortController();
  const beat = setInterval(() => outgoing.writeProcessing(), BEAT_MS);
  outgoing.once("close", () => {
    clearInterval(beat);
    if (!outgoing.writableFinished) asker.abort(new DOMException("the asker has left", "AbortError"));
  });
  const visit = { incoming, outgoing, signal: asker.signal };
  try {
    const asked = fromHeader(incoming.headers[REQUEST]) as Forwarded;
    const response = await answer(asked.object, requestOf(asked, visit));
    clearInterval(beat);
    await pass(response, visit);
  } catch (error) {
    if (outgoing.headersSent) throw error;
    if (error instanceof OwnerAbsent) refuse(outgoing, ABSENT);
    else refuse(outgoing, 500, String(error));
  }
}

/** Refuses in the name of this process. The connection ends: a body may be on its way that nobody reads. */
function refuse(outgoing: ServerResponse, status: number, why = ""): void {
  outgoing.writeHead(status, { connection: "close" }).end(why);
}

function requestOf({ url, headers }: Forwarded, { incoming, outgoing, signal }: Visit): Request {
  const { method = "GET" } = incoming;
  const body = isRead(method) ? null : bodyOf(incoming, outgoing);
  const init = { method, headers: headers as [string, string][], signal, body, duplex: "half" };
  return new Request(url, init);
}

/** The body of a request, which is asked for when it is read: before that, nothing can have been done. */
function bodyOf(incoming: IncomingMessage, outgoing: ServerResponse): ReadableStream<Uint8Array> {
  let pieces: AsyncIterator<Uint8Array> | undefined;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        if (!pieces) {
          outgoing.writeContinue();
          pieces = incoming[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
        }
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Passes an object's answer on, each piece when the asker has taken the one before. */
async function pass(response: Response, { outgoing, signal }: Visit): Promise<void> {
  const body = response.body?.getReader();
  const cancel = () => void body?.cancel(signal.reason).catch(() => {});
  if (signal.aborted) return cancel();
  signal.addEventListener("abort", cancel);
  outgoing.writeHead(response.status, { [ANSWER]: asHeader([...response.headers]) });
  // a reader that waits for the first event knows that it is answered
  outgoing.flushHeaders();
  await sendBody(body, outgoing);
}

function isEqual(given: string, key: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(key)];
  return one.byteLength === other.byteLength && timingSafeEqual(one, other);
}

function listening(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject).listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
