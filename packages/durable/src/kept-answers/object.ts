import { hashOf, logCause, logError, Refusal, textOf } from "@sluice/worker-proxy/internal";
import { checkLeavingIsReported } from "../hosts/cloudflare.js";
import { type KeptJob, spentOnLost } from "../objects/job.js";
import {
  CALLER,
  type DurableObjectHandlers,
  type ObjectState,
  REPLAYED,
  refusedBy,
} from "../objects/object.js";
import { objectRefusal } from "../objects/refusals.js";
import { openReading } from "./reading.js";
import { openSending } from "./sending.js";
import { openSettling } from "./settling.js";
import { BEAT_MS, END_CODE, OWN, STATE, type StreamCaller, type StreamLogSetup } from "./setup.js";
import { openStream } from "./stream.js";

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
  const { way, orphanMs, keepMs } = options;
  const { storage } = state;
  const stream = openStream(state, options);
  const { log, readers } = stream;
  const { read, allEvents } = openReading(log, readers);
  const settling = openSettling(state, env, options, log);
  const { send } = openSending(state, env, options, stream, settling);
  let opening: Promise<unknown> | undefined;

  if (log.job) recover(log.job);
  // of an earlier version, without a job
  else if (log.state === "open") stream.end("interrupted");
  return { fetch, alarm };

  async function fetch(request: Request): Promise<Response> {
    try {
      return await answer(request);
    } catch (error) {
      // the proxy gets the refusal without its cause
      if (!(error instanceof Refusal) || textOf(error).status >= 500)
        await logCause("streamLogObject", error, { request, env, log: way.log });
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
      return read(Number(request.headers.get("last-event-id")), request.signal, stream.headers);
    stream.stop("stopped");
    return new Response(null, { status: 204 });
  }

  async function begin(request: Request): Promise<Response> {
    const caller = JSON.parse(decodeURIComponent(request.headers.get(CALLER) ?? "")) as StreamCaller;
    const text = await request.text();
    const [digest, userName] = await Promise.all([hashOf(text), hashOf(caller.user.id)]);
    await stream.forgetting;
    // nothing is awaited before the first row: of several requests with one key, only one is sent to the gateway
    const isReplayed = log.state !== undefined;
    if (!isReplayed) opening = send({ text, digest, caller, userName });
    else if (log.asked !== digest) throw objectRefusal("idempotency_mismatch");
    // a client that waits for the first event counts as a reader
    const letGo = readers.hold(request.signal);
    const json = await Promise.resolve(opening).finally(letGo);
    const { headers } = stream;
    const response = json === undefined ? read(0, request.signal, headers) : Response.json(json, { headers });
    if (isReplayed) response.headers.set(REPLAYED, "1");
    return response;
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
      stream.end("interrupted", code, spent);
    } else stream.keptUntil = Date.now() + keepMs;
    if (job.isReported) settling.resume(stream.keptUntil);
    else settling.finish({ outcome: OUTCOMES[how], code: log.code, spent }, stream.keptUntil);
  }

  async function alarm(): Promise<void> {
    if (log.state !== "open" && Date.now() >= stream.keptUntil) {
      // a request that comes meanwhile waits: it would join an answer that is about to be deleted
      stream.forgetting = forgetSettled();
      return void (await stream.forgetting);
    }
    await settling.done();
    if (log.state === "open") {
      if (readers.count > 0 || Date.now() - readers.aloneSince < orphanMs)
        return storage.setAlarm(Date.now() + BEAT_MS);
      return stream.stop("orphaned");
    }
    // an alarm that was set while the stream was open may come before the time of its end
    if (await settling.again(stream.keptUntil)) await storage.setAlarm(stream.keptUntil);
  }

  async function forgetSettled(): Promise<void> {
    if (await settling.again(stream.keptUntil)) await stream.forget();
  }

  /** Deletes the answer. A job that can't be settled now stays, without its events, until an alarm has settled it. */
  async function erase(): Promise<Response> {
    await stream.forgetting;
    stream.stop("stopped");
    await Promise.resolve(opening).catch(() => {});
    stream.keptUntil = Date.now();
    if (await settling.again(stream.keptUntil)) await stream.forget();
    else stream.empty();
    return new Response(null, { status: log.job ? 503 : 204 });
  }

  /** Lets those who read the answer now read it to its end. */
  async function dropSoon(): Promise<Response> {
    stream.keptUntil = Date.now();
    if (log.state !== "open" && readers.count === 0) await stream.forget();
    else await storage.setAlarm(stream.keptUntil + BEAT_MS);
    return new Response(null, { status: 204 });
  }
}
