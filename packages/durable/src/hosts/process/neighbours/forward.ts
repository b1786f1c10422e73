import { Agent, type ClientRequest, type IncomingMessage, request as openRequest } from "node:http";
import type { ObjectName } from "../keeper.js";
import { type Forward, OwnerAbsent } from "../live-objects.js";
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

/** The way to the objects of other processes. */
export interface Forwarding {
  readonly forward: Forward;
  /** Closes the connections that nobody uses. */
  close(): void;
}

/** Longest time until the owner gives a first sign, in milliseconds: some of those that it gives until there is an answer. */
const FIRST_MS = 15_000;
/** Longest silence of the owner afterwards, in milliseconds: event streams have a comment at least each 25 s. */
const SILENCE_MS = 60_000;
/** Answers without a body. */
const EMPTY: readonly number[] = [204, 205, 304];

/** Opens the way to other processes, by connections that are used again. */
export function openForwarding(): Forwarding {
  const agent = new Agent({ keepAlive: true });
  return { forward, close: () => agent.destroy() };

  async function forward(owner: string, object: ObjectName, request: Request): Promise<Response> {
    request.signal.throwIfAborted();
    const { hostname, port, host, hash } = new URL(owner);
    const inTwoSteps = { expect: "100-continue", "transfer-encoding": "chunked" };
    const sent = openRequest({
      agent,
      // an IPv6 address without its brackets
      hostname: hostname.replace(/^\[|\]$/g, ""),
      port,
      method: request.method,
      maxHeaderSize: MOST_HEADER_BYTES,
      headers: {
        ...(!isRead(request.method) && inTwoSteps),
        [KEY]: hash.slice(1),
        [REQUEST]: asHeader({ object, url: request.url, headers: [...request.headers] } satisfies Forwarded),
      },
    });
    return await answerTo(sent, request, `the process at ${host}, which has an object of ${object.binding},`);
  }
}

/**
 * @throws {OwnerAbsent} where the object had nothing of the request, or it only reads
 * @throws {Error} where the object may have had it, and where it failed there
 */
function answerTo(sent: ClientRequest, request: Request, owner: string): Promise<Response> {
  const { signal, method } = request;
  /** True from the moment in which the object may have the request. */
  let isHad = false;
  let isAnswered = false;
  return new Promise((resolve, reject) => {
    const leave = () => sent.destroy();
    signal.addEventListener("abort", leave);
    const patience = setTimeout(() => sent.destroy(new Error("it gave no sign")), FIRST_MS);
    const heard = () => {
      clearTimeout(patience);
      sent.setTimeout(SILENCE_MS);
    };
    sent.on("information", heard);
    sent.on("continue", () => {
      heard();
      isHad = true;
      sendBody(request.body?.getReader(), sent).catch((error) => sent.destroy(error));
    });
    sent.on("response", (incoming) => {
      heard();
      isAnswered = true;
      answerFrom(incoming, sent, method, owner).then(resolve, reject);
    });
    sent.on("timeout", () => sent.destroy(new Error("it fell silent")));
    sent.on("error", (cause) => reject(failure(cause)));
    sent.on("close", () => {
      clearTimeout(patience);
      signal.removeEventListener("abort", leave);
      if (!isAnswered) reject(failure());
    });
    if (isRead(method)) sent.end();
    else sent.flushHeaders();
  });

  function failure(cause?: Error): unknown {
    if (signal.aborted) return signal.reason;
    const why = cause ? `: ${cause.message}` : "";
    if (!isHad) return new OwnerAbsent(`${owner} can't be reached${why}`, { cause });
    return new Error(`${owner} was lost before its answer; it may have done what was asked${why}`, { cause });
  }
}

async function answerFrom(
  incoming: IncomingMessage,
  sent: ClientRequest,
  method: string,
  owner: string,
): Promise<Response> {
  // a body that nobody wanted is not sent, and its connection is of no more use
  incoming.once("end", () => sent.writableEnded || sent.destroy());
  const { statusCode: status = 0, headers } = incoming;
  if (headers[ANSWER] === undefined) throw await processFailure(incoming, status, owner);
  const isEmpty = method === "HEAD" || EMPTY.includes(status);
  if (isEmpty) incoming.resume();
  const own = fromHeader(headers[ANSWER]) as [string, string][];
  return new Response(isEmpty ? null : bodyOf(incoming, sent), { status, headers: own });
}

/** Reads the answer of a process that could not let the object answer. */
async function processFailure(incoming: IncomingMessage, status: number, owner: string): Promise<Error> {
  // without the key of the process that is there now, the address is that of an earlier one
  const isAbsent = status === ABSENT || status === 404;
  let text = "";
  for await (const piece of incoming.setEncoding("utf8")) text += piece;
  if (isAbsent) return new OwnerAbsent(`${owner} has not got it`);
  return new Error(`${owner} answered ${status}: ${text}`);
}

function bodyOf(incoming: IncomingMessage, sent: ClientRequest): ReadableStream<Uint8Array> {
  const pieces = incoming[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        // an owner is not silent while nobody reads
        sent.setTimeout(SILENCE_MS);
        const { done, value } = await pieces.next();
        sent.setTimeout(0);
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: () => void sent.destroy(),
    },
    { highWaterMark: 0 },
  );
}
