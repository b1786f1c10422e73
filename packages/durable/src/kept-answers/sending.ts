import type { ServerSentEvent } from "@sluice/core/sse";
import type { CallOutcome } from "@sluice/worker-proxy";
import {
  type Account,
  type Asked,
  ask,
  type Call,
  checkedType,
  type Gateway,
  isCredential,
  misconfigured,
  openAccount,
  openCall,
  outcomeOf,
  parsed,
  passedHeadersOf,
  type Refusal,
  readAnswer,
  readText,
  refusalIn,
  refusalOf,
  type StreamEnd,
  textOf,
  usageOf,
} from "@sluice/worker-proxy/internal";
import type { JobEnd, KeptJob } from "../objects/job.js";
import type { ObjectState } from "../objects/object.js";
import type { openSettling } from "./settling.js";
import { BEAT_MS, type StreamCaller, type StreamLogSetup } from "./setup.js";
import type { Stream } from "./stream.js";

/** A request as it came to the object. */
interface Received {
  readonly text: string;
  readonly digest: string;
  readonly caller: StreamCaller;
  readonly userName: string;
}

/** A request on its way, and what is known of it so far. */
interface Sending {
  readonly caller: StreamCaller;
  readonly job: KeptJob;
  readonly call: Call;
  readonly asked: Asked;
  account: Account | undefined;
  /** The end of the call, unless its failure says another one. */
  outcome: CallOutcome;
}

/** Larger than any answer that is no stream. */
const JSON_CHARACTERS = 8 * 1024 * 1024;
const CHAT = { method: "POST", path: "/v1/chat/completions" };
const UNMETERED = "streamLogObject: has no meter, but the proxy has one; give both the same `meter`";
/** The payment of a request for which nothing was reserved. */
const UNPAID = { reserved: undefined, spent: undefined } as const;

/** Opens the way of a request to the gateway: it is noted, reserved, sent and settled, once. */
export function openSending<Env>(
  state: ObjectState,
  env: Env,
  { way }: StreamLogSetup<Env>,
  stream: Stream,
  settling: ReturnType<typeof openSettling>,
) {
  const { timeout, meter } = way;
  const { chunkMs: stallMs } = timeout;
  const { log, readers } = stream;
  return { send };

  /**
   * Sends the request to the gateway. Returns undefined as soon as the answer streams, else the whole answer. Nothing is
   * awaited before the first row.
   *
   * @throws {Refusal} the proxy's own, or the gateway's; it is kept only where the gateway may have worked
   */
  async function send(received: Received): Promise<unknown> {
    const sending = begin(received);
    try {
      const body = JSON.parse(received.text) as Readonly<Record<string, unknown>>;
      const gateway = await prepare(sending, body);
      return await answered(sending, gateway, body);
    } catch (error) {
      return await failed(sending, error);
    }
  }

  /** Notes the request: an object that restarts before its end must not send it again. */
  function begin({ digest, caller, userName }: Received): Sending {
    const { id = "", user, model } = caller;
    const requestId = caller.headers?.["x-request-id"];
    const job: KeptJob = { id, user: user.id, userName, requestId, model, startedAt: Date.now() };
    stream.begin(digest, job);
    void state.storage.setAlarm(Date.now() + BEAT_MS);
    const call = openCall(new AbortController().signal, timeout.totalMs);
    stream.hangUp = () => call.stop("client_left");
    return { caller, job, call, asked: { known: {} }, account: undefined, outcome: "not_reached" };
  }

  /** Takes the user's place, and reserves. */
  async function prepare(sending: Sending, body: Readonly<Record<string, unknown>>): Promise<Gateway> {
    const { caller, job } = sending;
    if (caller.isMetered && !meter) throw misconfigured(UNMETERED);
    const gateway = await way.open(env, "stream-log.invalid");
    await settling.takePlace(job, caller);
    // stored before anything is reserved: what a process that is lost had reserved is found by the next one
    const keepTicket = async (ticket: string, reserved: number) => {
      log.keepJob({ ...job, ticket, reserved, isReserving: true });
      await state.storage.sync();
    };
    const payable = { ...caller, body, env, route: "chat", context: state, keepTicket } as const;
    const account = meter && (await openAccount(meter, payable));
    sending.account = account;
    if (account) log.keepJob({ ...job, ticket: account.ticket, reserved: account.reserved });
    return gateway;
  }

  async function answered(
    sending: Sending,
    gateway: Gateway,
    body: Readonly<Record<string, unknown>>,
  ): Promise<unknown> {
    const { caller, call, asked } = sending;
    // the gateway is asked for nothing that is not kept
    await state.storage.sync();
    sending.outcome = "unknown";
    const outgoing = { ...CHAT, body, headers: caller.headers };
    const response = await ask(gateway, outgoing, { call, report: asked });
    stream.headers = passedHeadersOf(response, gateway.apiKeys);
    const keys = [...gateway.apiKeys, ...credentialsIn(caller.headers)];
    if (!response.ok) throw await refusalOf({ response, call }, keys, timeout.chunkMs);
    const { type, body: events } = checkedType(response, true);
    if (type !== "text/event-stream") return await wholeAnswer(sending, response);
    keepAll(events, sending, { keys, choices: Number(body["n"] ?? 1) });
    return undefined;
  }

  /** Reads an answer that is no stream. Nothing is kept of it. */
  async function wholeAnswer({ call, account, asked }: Sending, response: Response): Promise<unknown> {
    const json = parsed(await readText({ response, call }, JSON_CHARACTERS, stallMs));
    const usage = usageOf(json);
    call.close();
    const isRefused = outcomeOf(json) === "refused";
    const end: JobEnd = { outcome: isRefused ? "failed" : "complete", usage, ...asked.known };
    await settling.release(end, account?.close(outcomeOf(json), usage));
    await stream.forget();
    return json;
  }

  /** Keeps the events of the answer as they come, and settles at its end. */
  function keepAll(
    body: ReadableStream<Uint8Array>,
    { call, account, asked }: Sending,
    { keys, choices }: { readonly keys: readonly string[]; readonly choices: number },
  ): void {
    let events: string[] = [];
    const onPass = () => {
      stream.append(events);
      events = [];
      readers.wake();
    };
    const onEnd = (streamEnd: StreamEnd) => {
      onPass();
      const { code, problem, usage, outcome, bytes } = streamEnd;
      const paid = account?.close(outcome, usage);
      if (problem) stream.endWith(problem, paid?.spent);
      else stream.end(code === undefined ? "done" : "error", code, paid?.spent);
      const jobEnd = { outcome: stream.stopped ?? outcomeOfStream(streamEnd), code: log.code, usage, bytes };
      const requestId = stream.headers["x-request-id"];
      settling.finish({ ...jobEnd, requestId, ...asked.known }, stream.keptUntil, paid);
    };
    const onEvent = (event: GatewayEvent) => void events.push(linesOf(event));
    // an object stays for as long as its answer comes, also where nobody reads it
    const read = new Promise<void>((resolve) => {
      const ended = (streamEnd: StreamEnd) => {
        onEnd(streamEnd);
        resolve();
      };
      readAnswer(body, call, { keys, choices, stallMs, onEvent, onPass, onEnd: ended });
    });
    state.waitUntil(read);
  }

  /** @throws {Refusal} the failure, unless the stream was stopped meanwhile */
  async function failed({ call, account, asked, ...sending }: Sending, error: unknown): Promise<undefined> {
    call.close();
    const refusal = refusalIn(error);
    const outcome = sending.outcome === "unknown" ? (refusal.details.outcome ?? "unknown") : sending.outcome;
    const { status, code } = textOf(refusal);
    // a meter that refuses has set nothing aside; one that fails may have
    const paid = account ? account.close(outcome) : { ...UNPAID, settled: Promise.resolve(status < 500) };
    // the readers of a stream that was stopped meanwhile have its end
    if (log.state !== "open") {
      const stopped = stream.stopped ?? "stopped";
      settling.finish({ outcome: stopped, code: log.code, ...asked.known }, stream.keptUntil, paid);
      return undefined;
    }
    const end: JobEnd = { outcome: status < 500 ? "refused" : "failed", code, ...asked.known };
    if (outcome === "unknown") keepFailure(refusal, end, paid);
    else {
      await settling.release(end, paid);
      await stream.forget();
    }
    throw error;
  }

  /** Keeps a failure after which nobody knows what the gateway did: the request is not sent again. */
  function keepFailure(refusal: Refusal, end: JobEnd, paid: Parameters<typeof settling.finish>[2]): void {
    stream.endWith(refusal, paid?.spent);
    settling.finish(end, stream.keptUntil, paid);
  }
}

/** An event of the gateway's stream. */
type GatewayEvent = Pick<ServerSentEvent, "event" | "data">;

/** Returns the lines of an event as they are kept. */
function linesOf({ event, data }: GatewayEvent): string {
  const name = event === "message" ? "" : `event: ${event}\n`;
  return `${name}data: ${data.includes("\n") ? data.replaceAll("\n", "\ndata: ") : data}`;
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
