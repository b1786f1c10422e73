import type { CallOutcome } from "@sluice/worker-proxy";
import {
  type Account,
  type Asked,
  ask,
  type Call,
  checkedType,
  decided,
  type Gateway,
  hashOf,
  holdsKey,
  isUnconnected,
  JSON_CHARACTERS,
  logCause,
  logError,
  misconfigured,
  openAccount,
  openCall,
  outcomeOf,
  parsed,
  passedHeadersOf,
  Refusal,
  readBinding,
  readText,
  refusalIn,
  refusalOf,
  textOf,
  usageOf,
} from "@sluice/worker-proxy/internal";
import { type JobEnd, type KeptJob, report, settleLater } from "../objects/job.js";
import { type ObjectState, refusedBy } from "../objects/object.js";
import { objectRefusal } from "../objects/refusals.js";
import { userIndexIn } from "../objects/user-index.js";
import type { KeptAnswer, openOnceRows } from "./rows.js";
import { type Create, JITTER_MS, type OnceSetup } from "./setup.js";

/** A create on its way. */
export interface Outgoing {
  readonly create: Create;
  readonly body: Readonly<Record<string, unknown>>;
  readonly job: KeptJob;
  /** Aborts when its user is erased. */
  readonly erased: AbortSignal;
}

/** The end of a request. */
export interface Ended {
  readonly answer: KeptAnswer;
  /** Present where the answer is not given to later requests: an error in its place, or `"nothing"`. */
  readonly instead?: KeptAnswer | "nothing";
  /** Reports the job. It is called in the turn in which the end is stored, so that nothing is lost in between. */
  readonly report: () => void;
}

/** A create on its way, and what is known of it so far. */
interface Sending extends Outgoing {
  readonly call: Call;
  readonly asked: Asked;
  account: Account | undefined;
  /** See `Reservation`: known before anything is reserved. */
  ticket: string | undefined;
  /** True from the moment in which the gateway may have it. */
  isSent: boolean;
  /** The gateway's; 0 before it has answered. */
  status: number;
  headers: Readonly<Record<string, string>>;
  /** Reports the end; present once the job is settled. */
  reportEnd: (() => void) | undefined;
}

const UNMETERED = "onceObject: has no meter, but the proxy has one; give both the same `meter`";

/** Opens the way of a create to the gateway: it is listed, reserved, sent, read and settled, once. */
export function openSending<Env>(
  state: ObjectState,
  env: Env,
  { way, namespace, answerBytes, onEvent }: OnceSetup<Env>,
  rows: ReturnType<typeof openOnceRows>,
) {
  const { timeout, meter } = way;
  return { sendOnce };

  /** Sends the request to the gateway, and reads the whole answer. */
  async function sendOnce(outgoing: Outgoing): Promise<Ended> {
    const sending: Sending = {
      ...outgoing,
      call: openCall(outgoing.erased, timeout.totalMs),
      asked: { known: {} },
      account: undefined,
      ticket: undefined,
      isSent: false,
      status: 0,
      headers: {},
      reportEnd: undefined,
    };
    try {
      const gateway = await prepare(sending);
      const response = await send(sending, gateway);
      return await answered(sending, gateway.apiKeys, response);
    } catch (error) {
      return await failed(sending, refusalIn(error));
    }
  }

  /** Does what is to be done before the gateway is asked: lists the object, and reserves. */
  async function prepare(sending: Sending): Promise<Gateway> {
    const { create, body, job } = sending;
    if (create.isMetered && !meter) throw misconfigured(UNMETERED);
    await list(create);
    const gateway = await way.open(env, "once.invalid");
    const keepTicket = async (ticket: string, reserved: number) => {
      sending.ticket = ticket;
      rows.reserved({ ...job, ticket, reserved, isReserving: true });
      await state.storage.sync();
    };
    const account = meter && (await openAccount(meter, { ...create, body, env, context: state, keepTicket }));
    sending.account = account;
    if (account) rows.reserved({ ...job, ticket: account.ticket, reserved: account.reserved });
    return gateway;
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

  /** @throws {Refusal} for an answer that is no success, and where there is none */
  async function send(sending: Sending, gateway: Gateway): Promise<Response> {
    const { create, body, call, asked } = sending;
    // the gateway is asked for nothing that is not kept
    await state.storage.sync();
    sending.isSent = true;
    const request = { ...create, method: "POST", body };
    const response = await ask(gateway, request, { call, report: asked });
    sending.status = response.status;
    sending.headers = passedHeadersOf(response, gateway.apiKeys);
    if (!response.ok) throw await refusalOf({ response, call }, gateway.apiKeys, timeout.chunkMs);
    return response;
  }

  async function answered(sending: Sending, keys: readonly string[], response: Response): Promise<Ended> {
    const { call, status } = sending;
    const { text, json } = await readJSON(response, call);
    const outcome = outcomeOf(json);
    const how = outcome === "refused" ? "failed" : "complete";
    const reportEnd = await close(sending, { outcome: how, usage: usageOf(json) }, outcome);
    if (holdsKey(text, keys)) throw new Refusal("upstream_type");
    call.close(true);
    const headers = { ...sending.headers, "content-type": "application/json" };
    const bytes = new TextEncoder().encode(text);
    return { ...(await whole({ status, headers, bytes })), report: reportEnd };
  }

  async function readJSON(response: Response, call: Call) {
    checkedType(response, false);
    const text = await readText({ response, call }, JSON_CHARACTERS, timeout.chunkMs);
    return { text, json: parsed(text) };
  }

  async function whole(answer: KeptAnswer): Promise<Omit<Ended, "report">> {
    if (answer.bytes.byteLength <= answerBytes) return { answer };
    logError(`onceObject: an answer of ${answer.bytes.byteLength} bytes is not kept; see answerBytes`);
    return { answer, instead: await answerOf(objectRefusal("answer_not_kept")) };
  }

  async function failed(sending: Sending, cause: Refusal): Promise<Ended> {
    const { create, call, erased, isSent, status } = sending;
    call.close();
    const refusal = erased.aborted ? objectRefusal("user_erased") : cause;
    const outcome: CallOutcome = isSent ? (cause.details.outcome ?? "unknown") : "not_reached";
    const { status: said, code } = textOf(refusal);
    const how = erased.aborted ? "stopped" : said < 500 ? "refused" : "failed";
    const reportEnd = await close(sending, { outcome: how, code }, outcome);
    await logged(refusal, create);
    const isFree = !isSent || isRefused(status) || (status === 0 && isUnconnected(refusal.cause));
    const instead = isFree && ({ instead: "nothing" } as const);
    return { answer: await answerOf(refusal), report: reportEnd, ...instead };
  }

  /**
   * Settles the job, before its answer is stored: after that, nothing of it is lost by a crash. The first end counts.
   *
   * @returns the report of the end
   */
  async function close(sending: Sending, end: JobEnd, outcome: CallOutcome): Promise<() => void> {
    const { account, headers, asked, job } = sending;
    if (sending.reportEnd) return sending.reportEnd;
    const paid = account?.close(outcome, end.usage);
    const amounts = paid && { reserved: paid.reserved, spent: paid.spent };
    // the answer has this id, and so has the event of its request
    const known = { requestId: headers["x-request-id"], ...end, ...asked.known, ...amounts };
    const reportEnd = () => report(onEvent, "create", job, known, env);
    sending.reportEnd = reportEnd;
    // a meter that failed may have set something aside
    const isSettled = paid ? await paid.settled : end.outcome !== "failed";
    const left = { ticket: account?.ticket ?? sending.ticket, isReserving: !account };
    if (!isSettled) state.waitUntil(settleLater(meter, left, paid, env));
    return reportEnd;
  }

  async function logged(refusal: Refusal, { headers }: Create): Promise<void> {
    if (textOf(refusal).status < 500) return;
    const request = new Request("https://once.invalid/", { headers: { ...headers } });
    await logCause("onceObject", refusal, { request, env, log: way.log });
  }
}

/** Returns true for a status that says that the gateway did nothing; 408 is the end of a wait. */
function isRefused(status: number): boolean {
  return status >= 400 && status < 500 && status !== 408;
}

/** Makes the answer that a refusal is kept as. */
export async function answerOf(refusal: Refusal): Promise<KeptAnswer> {
  const response = refusedBy(refusal);
  const { status, headers } = response;
  return { status, headers: Object.fromEntries(headers), bytes: await response.bytes() };
}
