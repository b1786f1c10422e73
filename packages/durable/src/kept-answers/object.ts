import type { CallOutcome } from "@sluice/worker-proxy";
import {
  type Account,
  type Asked,
  ask,
  type Call,
  checkedType,
  hashOf,
  isCredential,
  logCause,
  logError,
  misconfigured,
  openAccount,
  openCall,
  outcomeOf,
  parsed,
  passedHeadersOf,
  Refusal,
  readAnswer,
  readText,
  refusalIn,
  refusalOf,
  STALL_MS,
  type StreamEnd,
  setupOf,
  textOf,
  usageOf,
} from "@sluice/worker-proxy/internal";
import { checkLeavingIsReported } from "../hosts/cloudflare.js";
import { type JobEnd, type KeptJob, reported, spentOnLost } from "../objects/job.js";
import {
  CALLER,
  type DurableObjectHandlers,
  type ObjectState,
  REPLAYED,
  refusedBy,
} from "../objects/object.js";
import { openReaders } from "../objects/readers.js";
import { objectRefusal } from "../objects/refusals.js";
import { errorLines, openReading } from "./reading.js";
import { openEventLog, type StreamState } from "./rows.js";
import { openSettling } from "./settling.js";
import { BEAT_MS, END_CODE, OWN, STATE, type StreamCaller, type StreamLogSetup } from "./setup.js";

/** The facts of a request that storing its answer needs. */
interface Kept {
  readonly keys: readonly string[];
  readonly choices: number;
  readonly account: Account | undefined;
  readonly asked: Asked;
}

const MOST_READERS = 8;
/** Larger than any answer that is no stream. */
const JSON_CHARACTERS = 8 * 1024 * 1024;
const CHAT = { method: "POST", path: "/v1/chat/completions" };
const UNMETERED = "streamLogObject: has no meter, but the proxy has one; give both the same `meter`";
/** The payment of a request for which nothing was reserved. */
const UNPAID = { reserved: undefined, spent: undefined } as const;
const OUTCOMES = {
  done: "complete",
  error: "failed",
  cancelled: "stopped",
  interrupted: "lost",
  open: "lost",
} as const;

/**
 * Opens the stream of one object: one request to the gateway, reserved and settled once, whose events are stored. Each
 * reader begins at any event.
 */
export function openStreamLog<Env>(
  state: ObjectState,
  env: Env,
  options: StreamLogSetup<Env>,
): DurableObjectHandlers {
  const { settings, orphanMs, keepMs, logBytes } = options;
  const { storage } = state;
  const { limits, meter } = settings;
  const { stallMs = STALL_MS } = limits;
  const log = openEventLog(storage, logBytes);
  const readers = openReaders(MOST_READERS);
  const { read, allEvents } = openReading(log, readers);
  const settling = openSettling(state, env, options, log);
  let hangUp: (() => void) | undefined;
  let opening: Promise<unknown> | undefined;
  let forgetting: Promise<unknown> | undefined;
  let headers: Readonly<Record<string, string>> = {};
  let keptUntil = 0;
  /** Reason of a stop. */
  let stopped: "stopped" | "orphaned" | undefined;

  if (log.job) recover(log.job);
  // of an earlier version, without a job
  else if (log.state === "open") end("interrupted");
  return { fetch, alarm };

  async function fetch(request: Request): Promise<Response> {
    try {
      return await answer(request);
    } catch (error) {
      // the proxy gets the refusal without its cause
      if (!(error instanceof Refusal) || textOf(error).status >= 500)
        await logCause("streamLogObject", error, { request, env, settings });
      return refusedBy(error);
    }
  }

  async function answer(request: Request): Promise<Response> {
    checkLeavingIsReported();
    if (request.method === "POST") return await begin(request);
    const { pathname } = new URL(request.url);
    if (pathname === OWN.erase) return await erase();
    if (pathname === OWN.drop) return await dropSoon();
    if (log.state === undefined) throw objectRefusal("stream_not_found");
    if (pathname === OWN.end)
      return new Response(null, { headers: { [END_CODE]: log.code ?? "", [STATE]: log.state } });
    if (pathname === OWN.export) return Response.json({ state: log.state, events: allEvents() });
    if (request.method === "GET")
      return read(Number(request.headers.get("last-event-id")), request.signal, headers);
    stop("stopped");
    return new Response(null, { status: 204 });
  }

  async function begin(request: Request): Promise<Response> {
    const caller = JSON.parse(decodeURIComponent(request.headers.get(CALLER) ?? "")) as StreamCaller;
    const text = await request.text();
    const [digest, userName] = await Promise.all([hashOf(text), hashOf(caller.user.id)]);
    await forgetting;
    // nothing is awaited before the first row: of several requests with one key, only one is sent to the gateway
    const isReplayed = log.state !== undefined;
    if (!isReplayed) opening = open(text, digest, caller, userName);
    else if (log.asked !== digest) throw objectRefusal("idempotency_mismatch");
    // a client that waits for the first event counts as a reader
    const letGo = readers.hold(request.signal);
    const json = await Promise.resolve(opening).finally(letGo);
    const response = json === undefined ? read(0, request.signal, headers) : Response.json(json, { headers });
    if (isReplayed) response.headers.set(REPLAYED, "1");
    return response;
  }

  /**
   * Sends the request to the gateway. Returns undefined as soon as the answer streams, else the whole answer.
   *
   * @throws {Refusal} the proxy's own, or the gateway's; it is kept only where the gateway may have worked
   */
  async function open(
    text: string,
    digest: string,
    caller: StreamCaller,
    userName: string,
  ): Promise<unknown> {
    const { id = "", user, model } = caller;
    const requestId = caller.headers?.["x-request-id"];
    const job: KeptJob = { id, user: user.id, userName, requestId, model, startedAt: Date.now() };
    // stored before the request is sent: an object that restarts in between must not send it again
    log.begin(digest, job);
    stopped = undefined;
    void storage.setAlarm(Date.now() + BEAT_MS);
    const call = openCall(new AbortController().signal, limits.totalMs);
    hangUp = () => call.stop("client_left");
    const asked: Asked = { known: {} };
    let account: Account | undefined;
    let outcome: CallOutcome = "not_reached";
    try {
      if (caller.isMetered && !meter) throw misconfigured(UNMETERED);
      const body = JSON.parse(text) as Readonly<Record<string, unknown>>;
      const setup = await setupOf(settings, env, "stream-log.invalid");
      await settling.takePlace(job, caller);
      // stored before anything is reserved: what a process that is lost had reserved is found by the next one
      const keepTicket = (ticket: string, reserved: number) =>
        log.keepJob({ ...job, ticket, reserved, isReserving: true });
      const payable = { ...caller, body, env, route: "chat", context: state, keepTicket } as const;
      account = meter && (await openAccount(meter, payable));
      if (account) log.keepJob({ ...job, ticket: account.ticket, reserved: account.reserved });
      outcome = "unknown";
      const outgoing = { ...CHAT, body, headers: caller.headers };
      const response = await ask({ settings, setup, call, report: asked }, outgoing, env);
      headers = passedHeadersOf(response, setup.apiKeys);
      const keys = [...setup.apiKeys, ...credentialsIn(caller.headers)];
      if (!response.ok) throw await refusalOf({ response, call }, keys, limits);
      const { type, body: stream } = checkedType(response, true);
      if (type === "text/event-stream") {
        keepAll(stream, call, { keys, choices: Number(body["n"] ?? 1), account, asked });
        return undefined;
      }
      const json = parsed(await readText({ response, call }, JSON_CHARACTERS, stallMs));
      const usage = usageOf(json);
      call.close();
      const isRefused = outcomeOf(json) === "refused";
      const end: JobEnd = { outcome: isRefused ? "failed" : "complete", usage, ...asked.known };
      await settling.release(end, account?.close(outcomeOf(json), usage));
      await forget();
      return json;
    } catch (error) {
      call.close();
      const refusal = refusalIn(error);
      if (outcome === "unknown") outcome = refusal.details.outcome ?? "unknown";
      const { status, code } = textOf(refusal);
      // a meter that refuses has set nothing aside; one that fails may have
      const paid = account ? account.close(outcome) : { ...UNPAID, settled: Promise.resolve(status < 500) };
      // the readers of a stream that was stopped meanwhile have its end
      if (log.state !== "open") {
        settling.finish({ outcome: stopped ?? "stopped", code: log.code, ...asked.known }, keptUntil, paid);
        return undefined;
      }
      const end: JobEnd = { outcome: status < 500 ? "refused" : "failed", code, ...asked.known };
      if (outcome !== "unknown") {
        await settling.release(end, paid);
        await forget();
      } else {
        endWith(refusal, paid?.spent);
        settling.finish(end, keptUntil, paid);
      }
      throw error;
    }
  }

  function keepAll(body: ReadableStream<Uint8Array>, call: Call, { account, asked, ...kept }: Kept): void {
    let events: string[] = [];
    const onPass = () => {
      append(events);
      events = [];
      readers.wake();
    };
    const onEnd = (streamEnd: StreamEnd) => {
      onPass();
      const { code, problem, usage, outcome, bytes } = streamEnd;
      const paid = account?.close(outcome, usage);
      if (problem) endWith(problem, paid?.spent);
      else end(code === undefined ? "done" : "error", code, paid?.spent);
      const jobEnd = { outcome: stopped ?? outcomeOfStream(streamEnd), code: log.code, usage, bytes };
      const requestId = headers["x-request-id"];
      settling.finish({ ...jobEnd, requestId, ...asked.known }, keptUntil, paid);
    };
    const onEvent: NonNullable<Parameters<typeof readAnswer>[2]["onEvent"]> = ({ event, data }) => {
      const name = event === "message" ? "" : `event: ${event}\n`;
      events.push(`${name}data: ${data.includes("\n") ? data.replaceAll("\n", "\ndata: ") : data}`);
    };
    readAnswer(body, call, { ...kept, stallMs, onEvent, onPass, onEnd });
  }

  function append(events: readonly string[]): void {
    // a stopped stream stores nothing more
    if (log.state === "open") log.append(events);
  }

  function endWith(problem: Refusal, spent: number | undefined): void {
    append([errorLines(problem)]);
    end("error", textOf(problem).code, spent);
  }

  function stop(reason: "stopped" | "orphaned"): void {
    if (log.state !== "open") return;
    stopped = reason;
    const refusal = objectRefusal("stream_stopped");
    log.append([errorLines(refusal)]);
    // first the log, so that no other end is written
    endLog("cancelled", textOf(refusal).code);
    hangUp?.();
  }

  /** Ends the log of a job that is reported in the same turn, with what was spent for it. */
  function end(how: StreamState, code?: string, spent?: number): void {
    endLog(how, code, log.job && reported(log.job, spent));
  }

  function endLog(how: StreamState, code?: string, job?: KeptJob): void {
    if (log.state !== "open") return;
    log.end(how, code, job);
    readers.wake();
    keptUntil = Date.now() + keepMs;
    void storage.setAlarm(keptUntil);
  }

  /** Settles a job whose process is gone, and reports it unless that one did. The request is not sent again: it would cost again. */
  function recover(job: KeptJob): void {
    const { code } = textOf(objectRefusal("stream_interrupted"));
    const how = log.state ?? "open";
    const spent = spentOnLost(job);
    if (how === "open") {
      const done = job.isReserving ? "given back: it was not sent" : "spent";
      logError(
        `streamLogObject: stream ${job.id} was lost with its object; what was reserved for it is ${done}`,
      );
      end("interrupted", code, spent);
    } else keptUntil = Date.now() + keepMs;
    if (job.isReported) settling.resume(keptUntil);
    else settling.finish({ outcome: OUTCOMES[how], code: log.code, spent }, keptUntil);
  }

  async function alarm(): Promise<void> {
    await settling.done();
    if (log.state === "open") {
      if (readers.count > 0 || Date.now() - readers.aloneSince < orphanMs)
        return storage.setAlarm(Date.now() + BEAT_MS);
      stop("orphaned");
      return;
    }
    if (!(await settling.again(keptUntil))) return;
    // an alarm that was set while the stream was open may come before the time of its end
    if (Date.now() < keptUntil) return storage.setAlarm(keptUntil);
    await forget();
  }

  async function erase(): Promise<Response> {
    await forgetting;
    stop("stopped");
    await Promise.resolve(opening).catch(() => {});
    await settling.done();
    await forget();
    return new Response(null, { status: 204 });
  }

  /** Lets those who read the answer now read it to its end. */
  async function dropSoon(): Promise<Response> {
    keptUntil = Date.now();
    if (log.state !== "open" && readers.count === 0) await forget();
    else await storage.setAlarm(keptUntil + BEAT_MS);
    return new Response(null, { status: 204 });
  }

  async function forget(): Promise<void> {
    readers.close();
    // a request that comes meanwhile waits: its rows would be deleted with these
    forgetting = Promise.all([storage.deleteAlarm(), log.forget()]);
    await forgetting;
  }
}

/** The end of a stream that nobody stopped. */
function outcomeOfStream({ code, isConfirmed }: StreamEnd): JobEnd["outcome"] {
  if (code === undefined) return isConfirmed ? "complete" : "unconfirmed";
  return code === "upstream_error" ? "failed" : "cut";
}

/** Values of headers that no answer may hold, as the gateway's key. */
function credentialsIn(headers: Readonly<Record<string, string>> = {}): readonly string[] {
  return Object.entries(headers).flatMap(([name, value]) => (isCredential(name) ? value : []));
}
