import type { ServerSentEvent } from "@sluice/core/sse";
import type { CallOutcome } from "../admitted.js";
import { openAccount } from "../gateway/additions.js";
import { checkedType, passedHeadersOf } from "../gateway/answer.js";
import { type Call, openCall } from "../gateway/call.js";
import { outcomeOf, parsed, readText, refusalOf, STALL_MS, usageOf } from "../gateway/read-answer.js";
import { relay, type StreamEnd } from "../gateway/relay.js";
import { type Account, ask } from "../gateway/request.js";
import { misconfigured, Refusal } from "../refusal.js";
import { errorBody, textOf } from "../refusals.js";
import { type Settings, setupOf } from "../settings.js";
import {
  CALLER,
  type Caller,
  checkLeavingIsReported,
  type DurableObjectHandlers,
  hashOf,
  type Next,
  type ObjectState,
  objectRefusal,
  openReaders,
  refusedBy,
} from "./platform.js";
import { openEventLog, type StreamState } from "./stream-log-rows.js";

/** Options of one stream, with their defaults. */
export interface StreamLogSetup<Env> {
  readonly settings: Settings<Env>;
  readonly orphanMs: number;
  readonly keepMs: number;
  readonly logBytes: number;
}

/** An event of the log; its id is its place. */
type LoggedEvent = Pick<ServerSentEvent, "event" | "data">;

/** The facts of a request that storing its answer needs. */
interface Kept {
  readonly keys: readonly string[];
  readonly choices: number;
  readonly account: Account | undefined;
}

/** Interval of the checks of an open stream, in milliseconds. An object that gets no events is evicted after a minute or two. */
const BEAT_MS = 30_000;
const MOST_READERS = 8;
/** Larger than any answer that is no stream. */
const JSON_CHARACTERS = 8 * 1024 * 1024;
const CHAT = { method: "POST", path: "/v1/chat/completions" };
const UNMETERED = "streamLogObject: has no meter, but the proxy has one; give both the same `meter`";

/**
 * Opens the stream of one object: one request to the gateway, reserved and settled once, whose events are stored. Each
 * reader begins at any event.
 */
export function openStreamLog<Env>(
  state: ObjectState,
  env: Env,
  { settings, orphanMs, keepMs, logBytes }: StreamLogSetup<Env>,
): DurableObjectHandlers {
  const { storage } = state;
  const { limits, meter } = settings;
  const { stallMs = STALL_MS } = limits;
  const log = openEventLog(storage.sql, logBytes);
  const readers = openReaders(MOST_READERS);
  let hangUp: (() => void) | undefined;
  let opening: Promise<unknown> | undefined;
  let forgetting: Promise<unknown> | undefined;
  let headers: Readonly<Record<string, string>> = {};
  let keptUntil = 0;

  // the gateway's connection was lost with the memory; a new request would cost again
  if (log.state === "open") end("interrupted");
  return { fetch, alarm };

  async function fetch(request: Request): Promise<Response> {
    try {
      return await answer(request);
    } catch (error) {
      // the proxy gets the refusal without its cause
      if (!(error instanceof Refusal) || textOf(error).status >= 500) {
        const { logCause } = await import("../own-answers.js");
        await logCause("streamLogObject", error, { request, env, settings });
      }
      return refusedBy(error);
    }
  }

  async function answer(request: Request): Promise<Response> {
    checkLeavingIsReported();
    if (request.method === "POST") return await begin(request);
    if (log.state === undefined) throw objectRefusal("stream_not_found");
    if (request.method === "GET") return read(Number(request.headers.get("last-event-id")), request.signal);
    stop();
    return new Response(null, { status: 204 });
  }

  async function begin(request: Request): Promise<Response> {
    const caller = JSON.parse(decodeURIComponent(request.headers.get(CALLER) ?? "")) as Caller;
    const text = await request.text();
    const digest = await hashOf(text);
    await forgetting;
    // nothing is awaited before the first row: of several requests with one key, only one is sent to the gateway
    if (log.state === undefined) opening = open(text, digest, caller);
    else if (log.asked !== digest) throw objectRefusal("idempotency_mismatch");
    // a client that waits for the first event counts as a reader
    const letGo = readers.hold(request.signal);
    const json = await Promise.resolve(opening).finally(letGo);
    if (json === undefined) return read(0, request.signal);
    return Response.json(json, { headers });
  }

  /**
   * Sends the request to the gateway. Returns undefined as soon as the answer streams, else the whole answer.
   *
   * @throws {Refusal} the proxy's own, or the gateway's; it is kept only where the gateway may have worked
   */
  async function open(text: string, digest: string, caller: Caller): Promise<unknown> {
    // stored before the request is sent: an object that restarts in between must not send it again
    log.begin(digest);
    void storage.setAlarm(Date.now() + BEAT_MS);
    const call = openCall(new AbortController().signal, limits.totalMs);
    hangUp = () => call.stop("client_left");
    let account: Account | undefined;
    let outcome: CallOutcome = "not_reached";
    try {
      if (caller.isMetered && !meter) throw misconfigured(UNMETERED);
      const body = JSON.parse(text) as Readonly<Record<string, unknown>>;
      const setup = await setupOf(settings, env, "stream-log.invalid");
      account = meter && (await openAccount(meter, { ...caller, body, env, route: "chat", context: state }));
      outcome = "unknown";
      const response = await ask({ settings, setup, call }, { ...CHAT, body, headers: caller.headers }, env);
      headers = passedHeadersOf(response, setup.apiKeys);
      if (!response.ok) throw await refusalOf({ response, call }, setup.guarded, limits);
      const { type, body: stream } = checkedType(response, true);
      if (type === "text/event-stream") {
        const choices = Number(body["n"] ?? 1);
        void keepAll(stream, call, { keys: setup.apiKeys, choices, account });
        return undefined;
      }
      const json = parsed(await readText({ response, call }, JSON_CHARACTERS, stallMs));
      account?.close(outcomeOf(json), usageOf(json));
      call.close();
      await forget();
      return json;
    } catch (error) {
      call.close();
      if (outcome === "unknown" && error instanceof Refusal) outcome = error.details.outcome ?? "unknown";
      account?.close(outcome);
      // the readers of a stream that was stopped meanwhile have its end
      if (log.state !== "open") return undefined;
      if (outcome === "unknown") endWith(error);
      else await forget();
      throw error;
    }
  }

  async function keepAll(body: ReadableStream<Uint8Array>, call: Call, kept: Kept): Promise<void> {
    const onEvent = (event: LoggedEvent) => append(linesOf(event));
    const onEnd = (streamEnd: StreamEnd) => {
      const { code, problem, usage, outcome } = streamEnd;
      if (problem) endWith(problem);
      else end(code === undefined ? "done" : "error");
      kept.account?.close(outcome, usage);
    };
    const { keys, choices } = kept;
    const stream = relay(body, call, { keys, choices, stallMs, onEvent, onEnd }).getReader();
    hangUp = () => {
      call.stop("client_left");
      // a read that never ends would keep the object in memory for ever
      stream.cancel().catch(() => {});
    };
    while (!(await stream.read()).done) readers.wake();
  }

  function append(lines: string): void {
    // a stopped stream stores nothing more
    if (log.state === "open") log.append(lines);
  }

  function endWith(error: unknown): void {
    append(errorLines(error instanceof Refusal ? error : objectRefusal("stream_interrupted")));
    end("error");
  }

  function stop(): void {
    if (log.state !== "open") return;
    log.append(errorLines(objectRefusal("stream_stopped")));
    // first the log, so that no other end is written
    end("cancelled");
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
    if (after > log.last) throw objectRefusal("event_id_invalid");
    if (log.state !== "open" && after === log.last) return new Response(null, { status: 204 });
    const response = readers.open(nextAfter(after), signal);
    for (const [name, value] of Object.entries(headers)) response.headers.set(name, value);
    return response;
  }

  function nextAfter(after: number): () => Next {
    let at = after;
    return () => {
      const part = log.after(at);
      if (part === "lost") {
        at = Number.POSITIVE_INFINITY;
        return new TextEncoder().encode(`${errorLines(objectRefusal("stream_interrupted"))}\n\n`);
      }
      if (!part) return log.state === "open" ? "wait" : "end";
      at = part.last;
      return part.bytes;
    };
  }

  async function alarm(): Promise<void> {
    if (log.state !== "open") {
      // an alarm that was set while the stream was open may come before the time of its end
      if (Date.now() < keptUntil) return storage.setAlarm(keptUntil);
      return forget();
    }
    if (readers.count === 0 && Date.now() - readers.aloneSince >= orphanMs) stop();
    else await storage.setAlarm(Date.now() + BEAT_MS);
  }

  async function forget(): Promise<void> {
    log.forget();
    readers.close();
    // a request that comes meanwhile waits: its rows would be deleted with these
    forgetting = Promise.all([storage.deleteAlarm(), storage.deleteAll()]);
    await forgetting;
  }
}

function linesOf({ event, data }: LoggedEvent): string {
  const name = event === "message" ? "" : `event: ${event}\n`;
  return `${name}data: ${data.replaceAll("\n", "\ndata: ")}`;
}

function errorLines(refusal: Refusal): string {
  return `event: error\ndata: ${errorBody(refusal)}`;
}
