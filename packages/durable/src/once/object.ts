import type { Admitted, CallOutcome, OnJobEvent } from "@sluice/worker-proxy";
import {
  type Account,
  type Asked,
  ask,
  type Call,
  checkedType,
  decided,
  hashOf,
  isUnconnected,
  JSON_CHARACTERS,
  logCause,
  logError,
  misconfigured,
  openAccount,
  openCall,
  openKeyWatch,
  outcomeOf,
  parsed,
  passedHeadersOf,
  Refusal,
  readBinding,
  readText,
  refusalIn,
  refusalOf,
  type Settings,
  STALL_MS,
  setupOf,
  textOf,
  usageOf,
} from "@sluice/worker-proxy/internal";
import { type JobEnd, type KeptJob, report, settleJob, spentOnLost } from "../objects/job.js";
import {
  CALLER,
  type Caller,
  type DurableObjectHandlers,
  type ObjectNamespace,
  type ObjectState,
  REPLAYED,
  refusedBy,
} from "../objects/object.js";
import { objectRefusal } from "../objects/refusals.js";
import { userIndexIn } from "../objects/user-index.js";
import { ERASE, EXPORT } from "../objects/user-objects.js";
import { type KeptAnswer, openOnceRows } from "./rows.js";

/** Options of one object, with their defaults. */
export interface OnceSetup<Env> {
  readonly settings: Settings<Env>;
  readonly namespace: (env: Env) => ObjectNamespace | undefined;
  readonly answerBytes: number;
  readonly onEvent: OnJobEvent<Env> | undefined;
}

/** The part of an admitted create that is not its body. */
export interface Create extends Caller, Pick<Admitted, "route" | "path"> {
  /** The object's name without the user's part. */
  readonly id: string;
}

/** The data that an object keeps of its user. */
export interface ExportedCreate {
  /** Unix milliseconds at which it is deleted. */
  readonly endsAt: number;
  readonly requestId?: string | undefined;
  readonly model?: string | undefined;
  /** The status of the answer; absent as long as there is none. */
  readonly status?: number;
  /** Size of the answer, in bytes. */
  readonly bytes?: number;
  /** The answer, as text; absent where it is larger than was asked for. */
  readonly answer?: string;
}

/** Header of an export: the most bytes of an answer that go along. */
export const MOST_BYTES = "x-sluice-most";

/** The end of a request. */
interface Ended {
  readonly answer: KeptAnswer;
  /** Present where the answer is not given to later requests: an error in its place, or `"nothing"`. */
  readonly instead?: KeptAnswer | "nothing";
  /** Reports the job; in the turn in which its end is stored, so that nothing is lost in between. */
  readonly report: () => void;
}

/** Interval of the alarm of a request in flight, in milliseconds: an object that gets no events is evicted. */
const BEAT_MS = 30_000;
/** Time for which an answer is given, in milliseconds. */
const DAY_MS = 24 * 60 * 60 * 1000;
/** Longest time until it is deleted after that. */
const JITTER_MS = 60 * 60 * 1000;
const UNMETERED = "onceObject: has no meter, but the proxy has one; give both the same `meter`";

/**
 * Opens the object of one user's key: one request to the gateway, reserved and settled once, and its answer for all who
 * ask. What may have cost is kept, also as an error. After a refusal, and where the gateway was certainly not reached, the
 * key is free again. After its user was erased, too: to refuse a key is to keep something of it.
 */
export function openOnce<Env>(
  state: ObjectState,
  env: Env,
  { settings, namespace, answerBytes, onEvent }: OnceSetup<Env>,
): DurableObjectHandlers {
  const { storage } = state;
  const { limits, meter } = settings;
  const rows = openOnceRows(storage);
  /** The request in flight; a process that was started after it was sent does not have it. */
  let asking: Promise<KeptAnswer> | undefined;
  let forgetting: Promise<unknown> | undefined;
  /** Aborts when the user is erased while the request is in flight. */
  let erasing = new AbortController();
  return { fetch, alarm };

  async function fetch(request: Request): Promise<Response> {
    try {
      if (request.url === EXPORT)
        return Response.json(exported(Number(request.headers.get(MOST_BYTES))) ?? null);
      if (request.url === ERASE) return await erase();
      const { answer, isReplayed } = await answerTo(request);
      const response = responseOf(await answer);
      if (isReplayed) response.headers.set(REPLAYED, "1");
      return response;
    } catch (error) {
      return refusedBy(error);
    }
  }

  async function answerTo(request: Request): Promise<{ answer: Promise<KeptAnswer>; isReplayed: boolean }> {
    const create = JSON.parse(decodeURIComponent(request.headers.get(CALLER) ?? "")) as Create;
    const body = JSON.parse(await request.text()) as Readonly<Record<string, unknown>>;
    // the proxy's own name for the user differs after a change of its secret
    const digest = await hashOf(JSON.stringify([create.path, { ...body, user_id: undefined }]));
    while (forgetting) await forgetting;
    // nothing is awaited from here to the first row: of several requests, only one is sent
    let known = rows.read();
    if (known && !asking && Date.now() >= known.endsAt) {
      rows.clear();
      known = undefined;
    }
    if (!known) asking = begin(digest, create, body);
    else if (known.asked !== digest) throw objectRefusal("idempotency_mismatch");
    return { answer: asking ?? keptAnswer(), isReplayed: known !== undefined };
  }

  function begin(
    digest: string,
    create: Create,
    body: Readonly<Record<string, unknown>>,
  ): Promise<KeptAnswer> {
    // stored before the request is sent: an object that restarts in between must not send it again
    const requestId = create.headers?.["x-request-id"];
    const { model, user } = create;
    const job = { id: requestId ?? "", user: user.id, userName: "", requestId, model, startedAt: Date.now() };
    rows.begin(digest, Date.now() + DAY_MS, job);
    erasing = new AbortController();
    const ending = storage
      .setAlarm(Date.now() + BEAT_MS)
      .then(() => sendOnce(create, body, job, erasing.signal))
      .then(keep)
      .finally(() => {
        // the next one may have begun as soon as the key was free
        if (asking === ending) asking = undefined;
      });
    // it goes on when its clients leave
    state.waitUntil(ending.catch(() => {}));
    return ending;
  }

  async function keep({ answer, instead = answer, report }: Ended): Promise<KeptAnswer> {
    report();
    if (instead === "nothing") await forget();
    else await end(instead);
    return answer;
  }

  async function end(answer: KeptAnswer): Promise<void> {
    try {
      rows.end(answer);
      await wakeAtEnd();
    } catch {
      // as after a crash, the end counts as unknown
      logError("onceObject: its storage failed; the answer is given to those who wait, and to nobody later");
    }
  }

  /** Returns what is stored. A request without an end was lost with the process that sent it. */
  async function keptAnswer(): Promise<KeptAnswer> {
    const kept = rows.answer();
    if (kept) return kept;
    logError("onceObject: a request was lost with its object; its end is unknown, and it is not sent again");
    const refusal = objectRefusal("request_lost");
    const lost = await answerOf(refusal);
    const job = rows.read()?.job;
    try {
      if (job) await settleJob(meter, job, undefined, env);
    } catch {
      logError(
        `onceObject: a request that was lost could not be settled; it is tried again in ${BEAT_MS / 1000} s`,
      );
      await storage.setAlarm(Date.now() + BEAT_MS);
      return lost;
    }
    // another one that asked meanwhile has stored and reported the end
    const isFirst = rows.read()?.job !== undefined;
    const known: JobEnd = { outcome: "lost", code: textOf(refusal).code, spent: job && spentOnLost(job) };
    if (job && isFirst) report(onEvent, "create", job, known, env);
    await end(lost);
    return lost;
  }

  /** Sends the request to the gateway, and reads the whole answer. */
  async function sendOnce(
    create: Create,
    body: Readonly<Record<string, unknown>>,
    job: KeptJob,
    erased: AbortSignal,
  ): Promise<Ended> {
    const call = openCall(erased, limits.totalMs);
    let account: Account | undefined;
    let isSent = false;
    let status = 0;
    let headers: Readonly<Record<string, string>> = {};
    const asked: Asked = { known: {} };
    let reportEnd: (() => void) | undefined;
    /** Settles the job, before its answer is stored: after that, nothing of it is lost by a crash. */
    const close = async (end: JobEnd, outcome: CallOutcome) => {
      if (reportEnd) return reportEnd;
      const paid = account?.close(outcome, end.usage);
      const amounts = paid && { reserved: paid.reserved, spent: paid.spent };
      // the answer has this id, and so has the event of its request
      const known = { requestId: headers["x-request-id"], ...end, ...asked.known, ...amounts };
      reportEnd = () => report(onEvent, "create", job, known, env);
      await paid?.settled;
      return reportEnd;
    };
    try {
      if (create.isMetered && !meter) throw misconfigured(UNMETERED);
      await list(create);
      const setup = await setupOf(settings, env, "once.invalid");
      const keepTicket = (ticket: string, reserved: number) =>
        rows.reserved({ ...job, ticket, reserved, isReserving: true });
      account = meter && (await openAccount(meter, { ...create, body, env, context: state, keepTicket }));
      if (account) rows.reserved({ ...job, ticket: account.ticket, reserved: account.reserved });
      isSent = true;
      const response = await ask(
        { settings, setup, call, report: asked },
        { ...create, method: "POST", body },
        env,
      );
      status = response.status;
      headers = passedHeadersOf(response, setup.apiKeys);
      if (!response.ok) throw await refusalOf({ response, call }, setup.guarded, limits);
      const { text, json } = await readJSON(response, call);
      const outcome = outcomeOf(json);
      const how = outcome === "refused" ? "failed" : "complete";
      const reportDone = await close({ outcome: how, usage: usageOf(json) }, outcome);
      if (openKeyWatch(setup.guarded)(json)) throw new Refusal("upstream_type");
      call.close(true);
      const kept = { ...headers, "content-type": "application/json" };
      const bytes = new TextEncoder().encode(text);
      return { ...(await whole({ status, headers: kept, bytes })), report: reportDone };
    } catch (error) {
      call.close();
      const cause = refusalIn(error);
      const refusal = erased.aborted ? objectRefusal("user_erased") : cause;
      const outcome: CallOutcome = isSent ? (cause.details.outcome ?? "unknown") : "not_reached";
      const { status: said, code } = textOf(refusal);
      const how = erased.aborted ? "stopped" : said < 500 ? "refused" : "failed";
      const reportFailed = await close({ outcome: how, code }, outcome);
      await logged(refusal, create);
      const isFree = !isSent || isRefused(status) || (status === 0 && isUnconnected(refusal.cause));
      const instead = isFree && ({ instead: "nothing" } as const);
      return { answer: await answerOf(refusal), report: reportFailed, ...instead };
    }
  }

  /**
   * Notes the object in the index of its user, by which it is found to be erased.
   *
   * @throws {Refusal} 503 where that fails: nothing was sent, and nothing is kept that can't be erased
   */
  async function list({ id, user }: Create): Promise<void> {
    await decided("onceObject: namespace", "extension_unavailable", async () => {
      const objects = await readBinding("onceObject: namespace", namespace, env);
      const index = userIndexIn(objects, await hashOf(user.id));
      await index.end({ id, keptUntil: rows.endsAt() + JITTER_MS });
    });
  }

  async function readJSON(response: Response, call: Call) {
    checkedType(response, false);
    const text = await readText({ response, call }, JSON_CHARACTERS, limits.stallMs ?? STALL_MS);
    return { text, json: parsed(text) };
  }

  async function whole(answer: KeptAnswer): Promise<Omit<Ended, "report">> {
    if (answer.bytes.byteLength <= answerBytes) return { answer };
    logError(`onceObject: an answer of ${answer.bytes.byteLength} bytes is not kept; see answerBytes`);
    return { answer, instead: await answerOf(objectRefusal("answer_not_kept")) };
  }

  async function logged(refusal: Refusal, { headers }: Create): Promise<void> {
    if (textOf(refusal).status < 500) return;
    const request = new Request("https://once.invalid/", { headers: { ...headers } });
    await logCause("onceObject", refusal, { request, env, settings });
  }

  function exported(most: number): ExportedCreate | undefined {
    const known = rows.read();
    if (!known) return undefined;
    const { endsAt, job } = known;
    const kept = rows.answer();
    if (!kept) return { endsAt, requestId: job?.requestId, model: job?.model };
    const { status, headers, bytes } = kept;
    const answer = bytes.byteLength <= most && { answer: new TextDecoder().decode(bytes) };
    return { endsAt, requestId: headers["x-request-id"], status, bytes: bytes.byteLength, ...answer };
  }

  /** Ends the request, settles it and deletes everything. Those who wait get 410: their clients do not ask again. */
  async function erase(): Promise<Response> {
    erasing.abort();
    await asking?.catch(() => {});
    // one that was lost is settled first
    if (rows.read()?.job) await keptAnswer();
    if (rows.read()?.job) throw new Error("it could not be settled");
    await forget();
    return new Response(null, { status: 204 });
  }

  async function alarm(): Promise<void> {
    if (asking) return storage.setAlarm(Date.now() + BEAT_MS);
    const known = rows.read();
    if (!known || Date.now() >= known.endsAt) return forget();
    await keptAnswer();
    if (!rows.read()?.job) await wakeAtEnd();
  }

  /** Sets the alarm that deletes everything. The objects of a busy minute do not all wake at once. */
  async function wakeAtEnd(): Promise<void> {
    await storage.setAlarm(rows.endsAt() + Math.floor(Math.random() * JITTER_MS));
  }

  async function forget(): Promise<void> {
    // a request that comes meanwhile waits: its rows would be deleted with these
    forgetting = rows.deleteAll();
    await forgetting.finally(() => {
      forgetting = undefined;
    });
  }
}

/** Returns true for a status that says that the gateway did nothing; 408 is the end of a wait. */
function isRefused(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408;
}

async function answerOf(refusal: Refusal): Promise<KeptAnswer> {
  const response = refusedBy(refusal);
  const { status, headers } = response;
  return { status, headers: Object.fromEntries(headers), bytes: await response.bytes() };
}

function responseOf({ status, headers, bytes }: KeptAnswer): Response {
  return new Response(bytes, { status, headers });
}
