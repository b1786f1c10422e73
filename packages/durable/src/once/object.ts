import { hashOf, logError, textOf } from "@sluice/worker-proxy/internal";
import { type JobEnd, report, settleJob, spentOnLost } from "../objects/job.js";
import {
  CALLER,
  type DurableObjectHandlers,
  type ObjectState,
  REPLAYED,
  refusedBy,
} from "../objects/object.js";
import { objectRefusal } from "../objects/refusals.js";
import { ERASE, EXPORT } from "../objects/user-objects.js";
import { type KeptAnswer, openOnceRows } from "./rows.js";
import { answerOf, type Ended, openSending } from "./sending.js";
import { BEAT_MS, type Create, type ExportedCreate, JITTER_MS, MOST_BYTES, type OnceSetup } from "./setup.js";

/** Time for which an answer is given, in milliseconds. */
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Opens the object of one user's key: one request to the gateway, reserved and settled once, and its answer for all who
 * ask. What may have cost is kept, also as an error. After a refusal, and where the gateway was certainly not reached,
 * the key is free again. The key of an erased user is free, too: to refuse it, something of the user would have to be
 * kept.
 */
export function openOnce<Env>(state: ObjectState, env: Env, setup: OnceSetup<Env>): DurableObjectHandlers {
  const { storage } = state;
  const { way, onEvent } = setup;
  const rows = openOnceRows(storage);
  const { sendOnce } = openSending(state, env, setup, rows);
  /** The request in flight; a process that was started after it was sent does not have it. */
  let asking: Promise<KeptAnswer> | undefined;
  let forgetting: Promise<unknown> | undefined;
  /** Aborts when the user is erased while the request is in flight. */
  let erasing = new AbortController();
  return { fetch, alarm };

  async function fetch(request: Request): Promise<Response> {
    try {
      if (request.url === EXPORT)
        return Response.json(exportedFrom(rows, Number(request.headers.get(MOST_BYTES))) ?? null);
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
    const { signal: erased } = erasing;
    const ending = storage
      .setAlarm(Date.now() + BEAT_MS)
      .then(() => sendOnce({ create, body, job, erased }))
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
    return rows.answer() ?? (await lostAnswer());
  }

  /** Settles and reports a request that was lost, and keeps that as its end. */
  async function lostAnswer(): Promise<KeptAnswer> {
    logError("onceObject: a request was lost with its object; its end is unknown, and it is not sent again");
    const refusal = objectRefusal("request_lost");
    const lost = await answerOf(refusal);
    const job = rows.read()?.job;
    try {
      if (job) await settleJob(way.meter, job, undefined, env);
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

/** Returns what an object keeps of its user. */
function exportedFrom(rows: ReturnType<typeof openOnceRows>, most: number): ExportedCreate | undefined {
  const known = rows.read();
  if (!known) return undefined;
  const { endsAt, job } = known;
  const kept = rows.answer();
  if (!kept) return { endsAt, requestId: job?.requestId, model: job?.model };
  const { status, headers, bytes } = kept;
  const answer = bytes.byteLength <= most && { answer: new TextDecoder().decode(bytes) };
  return { endsAt, requestId: headers["x-request-id"], status, bytes: bytes.byteLength, ...answer };
}

function responseOf({ status, headers, bytes }: KeptAnswer): Response {
  return new Response(bytes, { status, headers });
}
