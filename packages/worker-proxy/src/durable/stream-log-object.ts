import { type Call, openCall } from "../gateway/call.js";
import { relay } from "../gateway/relay.js";
import { readText } from "../gateway/request.js";
import { errorBody, Refusal } from "../refusal.js";
import { hashOf } from "./object-name.js";
import type { DurableObjectHandlers, ObjectState } from "./platform.js";
import { errorEvent, openEvents } from "./stream-log-events.js";
import { openReaders } from "./stream-log-readers.js";
import { openEventLog, type StreamState } from "./stream-log-rows.js";

/** Sends a chat request on; the answer must hold none of the `keys`. */
export type AskGateway = (
  body: Readonly<Record<string, unknown>>,
  call: Call,
) => Promise<{ readonly response: Response; readonly keys: readonly string[] }>;

/** What one stream needs to know of its proxy. */
interface StreamLogSetup {
  readonly ask: AskGateway;
  readonly stallMs: number;
  readonly totalMs: number | undefined;
  readonly orphanMs: number;
  readonly keepMs: number;
  readonly logBytes: number;
}

/** How often an open stream is looked after. An object that nobody calls is evicted after a minute or two. */
const BEAT_MS = 30_000;
const READERS = 8;
/** Larger than any answer that is no stream. */
const TEXT_CHARACTERS = 8 * 1024 * 1024;

const EVENTS = /^text\/event-stream\s*(?:;|$)/i;

const STOPPED = new Refusal(499, "stream_stopped", "the stream was stopped");
const NOT_FOUND = new Refusal(404, "not_found", "there is no stream with this id, or not any more");
const MISMATCH = new Refusal(
  422,
  "idempotency_mismatch",
  "this idempotency-key was used for another request",
);
const TOO_MANY = new Refusal(429, "too_many_readers", `a stream has at most ${READERS} readers`);

/** One stream: asks once, writes down what comes, and lets everybody read it from any place. */
export function openStreamLog(
  { storage }: ObjectState,
  { ask, stallMs, totalMs, orphanMs, keepMs, logBytes }: StreamLogSetup,
): DurableObjectHandlers {
  const log = openEventLog(storage.sql, logBytes);
  const readers = openReaders(log);
  let hangUp: (() => void) | undefined;
  let asking: Promise<Response | undefined> | undefined;
  let requestId: string | null = null;
  let brokeBy: string | undefined;
  let keptUntil = 0;

  // its reader went with the memory. To ask again would be to pay again
  if (log.state === "open") end("interrupted");
  return { fetch, alarm };

  async function fetch(request: Request): Promise<Response> {
    if (request.method === "POST") return begin(await request.text(), request.signal);
    if (log.state === undefined) return refuse(NOT_FOUND);
    if (request.method === "GET") return read(Number(request.headers.get("last-event-id")), request.signal);
    stop();
    return new Response(null, { status: 204 });
  }

  async function begin(body: string, signal: AbortSignal): Promise<Response> {
    const digest = await hashOf(body);
    if (log.state === undefined) asking = open(body, digest);
    else if (log.asked !== digest) return refuse(MISMATCH);
    const letGo = readers.hold(signal);
    const refused = await asking;
    letGo();
    return refused ? (refused.clone() as Response) : read(0, signal);
  }

  /** Undefined as soon as the answer streams; else what is answered instead. */
  async function open(body: string, digest: string): Promise<Response | undefined> {
    // written before the gateway is asked: what is restarted in between must not ask again
    log.begin(digest);
    void storage.setAlarm(Date.now() + BEAT_MS);
    const call = openCall(new AbortController().signal, totalMs);
    hangUp = () => call.stop("client_left");
    try {
      const { response, keys } = await ask(JSON.parse(body), call);
      if (response.ok && response.body && EVENTS.test(response.headers.get("content-type") ?? "")) {
        requestId = response.headers.get("x-request-id");
        const onEnd = ({ code }: { code?: string | undefined }) => {
          brokeBy = code;
        };
        const options = { stallMs, keys, isChat: true, onEnd };
        void keepAll(relay(response.body, call, options).getReader());
        return undefined;
      }
      // there is nothing to come back for, and the question may be asked again
      const refused = passedOn(response, await readText({ response, call }, stallMs, TEXT_CHARACTERS));
      call.close();
      await forget();
      return refused;
    } catch (error) {
      call.close();
      if (log.state !== "open") return undefined;
      log.append(errorEvent(error as Refusal));
      end("error");
      return refuse(error as Refusal);
    }
  }

  async function keepAll(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    const events = openEvents();
    try {
      for (let part = await reader.read(); !part.done; part = await reader.read())
        keep(events.push(part.value));
      keep(events.end());
      end(brokeBy === undefined ? "done" : "error");
    } catch {
      stop("interrupted");
    }
  }

  function keep(events: readonly string[]): void {
    // what was on its way when the stream was stopped
    if (log.state !== "open") return;
    for (const event of events) log.append(event);
    readers.wake();
  }

  function stop(how: StreamState = "cancelled"): void {
    if (log.state !== "open") return;
    if (how === "cancelled") log.append(errorEvent(STOPPED));
    end(how);
    hangUp?.();
  }

  function end(how: StreamState): void {
    if (log.state !== "open") return;
    log.end(how);
    readers.wake();
    keptUntil = Date.now() + keepMs;
    void storage.setAlarm(keptUntil);
  }

  function read(after: number, signal: AbortSignal): Response {
    if (log.state !== "open" && after >= log.last) return new Response(null, { status: 204 });
    if (readers.count >= READERS) return refuse(TOO_MANY);
    const headers = { "content-type": "text/event-stream", ...(requestId && { "x-request-id": requestId }) };
    return new Response(readers.open(after, signal), { headers });
  }

  async function alarm(): Promise<void> {
    if (log.state !== "open") {
      // the one that found the stream interrupted was set while it was open
      if (Date.now() < keptUntil) return storage.setAlarm(keptUntil);
      return forget();
    }
    readers.beat();
    if (readers.count === 0 && Date.now() - readers.aloneSince >= orphanMs) stop();
    else await storage.setAlarm(Date.now() + BEAT_MS);
  }

  async function forget(): Promise<void> {
    log.forget();
    readers.wake();
    await storage.deleteAlarm();
    await storage.deleteAll();
  }
}

/** What the gateway said instead of a stream, for the proxy to judge. */
function passedOn({ status, headers }: Response, text: string): Response {
  const passed = new Headers();
  for (const name of ["content-type", "retry-after", "x-request-id"]) {
    const value = headers.get(name);
    if (value !== null) passed.set(name, value);
  }
  // a 204 must have no body, not an empty one
  return new Response(text || null, { status, headers: passed });
}

/** Says that a refusal is the object's. Of the gateway's headers none by this name goes on. */
export const OWN = "x-stream-log";

function refuse(refusal: Refusal): Response {
  return new Response(errorBody(refusal), {
    status: refusal.status,
    headers: { "content-type": "application/json", [OWN]: "refused" },
  });
}
