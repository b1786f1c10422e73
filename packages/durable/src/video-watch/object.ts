import { Refusal } from "@sluice/worker-proxy/internal";
import { checkLeavingIsReported } from "../hosts/cloudflare.js";
import { resentLetter } from "../notices/dead-letter-object.js";
import { type DurableObjectHandlers, type ObjectState, refusedBy } from "../objects/object.js";
import { openReaders } from "../objects/readers.js";
import { ERASE, EXPORT } from "../objects/user-objects.js";
import { exportedTask, named, newsFor, refusalIn } from "./answers.js";
import { POLL } from "./data.js";
import { openOrders } from "./orders.js";
import type { WatchParts } from "./parts.js";
import { KEPT_MS, openPolling } from "./poll.js";
import { openWatchState } from "./state.js";
import { ABANDONED_AFTER_MS, mayResume, newTask, soonestPoll, type WatchedTask } from "./task.js";
import type { FailedAnswer } from "./task-query.js";
import { KEPT, USER } from "./video-events.js";
import { openEndWork } from "./work.js";

/** Most tabs that one task is pushed to. */
const MOST_READERS = 16;
/** Pause of a watch whose rows are of a later version. */
const TOO_NEW_MS = 5 * 60_000;

/** Opens the watch of one task. */
export function openVideoWatch(state: ObjectState, parts: WatchParts): DurableObjectHandlers {
  const { intervalMs, rememberMs } = parts;
  const { storage } = state;
  const readers = openReaders(MOST_READERS);
  const watch = openWatchState(state);
  const polling = openPolling(watch, storage, readers, parts);
  const { pollOnce, reportEnd } = polling;
  const orders = openOrders(watch, storage, readers, parts, polling);
  const { afterEnd } = openEndWork(watch, storage, parts, reportEnd);
  return { fetch, alarm };

  /** Answers requests to `/<the gateway's id>?as=<the id as the client knows it>`, and to `/task` below it. */
  async function fetch(request: Request): Promise<Response> {
    if (watch.tooNew !== undefined) throw watch.tooNew;
    try {
      const letter = await resentLetter(request);
      if (letter !== undefined) return await orders.resend(letter);
      if (request.url === EXPORT) return Response.json(watch.task ? exportedTask(watch.task) : null);
      if (request.url === ERASE) return await orders.erase();
      if (request.url === POLL) return await orders.pollAgain();
      const { pathname, searchParams } = new URL(request.url);
      const [, id = "", path] = pathname.split("/");
      const as = searchParams.get("as") ?? "";
      if (request.method === "DELETE") return await orders.remove();
      const userId = decodeURIComponent(request.headers.get(USER) ?? "");
      const how = { isSteady: searchParams.has("steady"), ...(userId && { userId }) };
      const known = watch.task ?? newTask(id, Date.now(), how);
      if (request.method === "POST") return await orders.start(known, await request.json());
      if (watch.task !== known) await watch.wakeAndStore(Date.now() + intervalMs, known);
      const answer = path === "task" ? await read(as) : await subscribe(known, request, as);
      // in the first answers, since one of them may be lost
      if (watch.task && !watch.task.created && watch.task.answers <= 1)
        answer.headers.set(KEPT, String(rememberMs ?? KEPT_MS));
      return answer;
    } catch (error) {
      return refusedBy(error);
    }
  }

  async function subscribe(known: WatchedTask, { headers, signal }: Request, as: string): Promise<Response> {
    checkLeavingIsReported();
    await resume();
    if (!watch.task?.end) await wake(watch.task ?? known);
    return readers.open(newsFor(watch, as, headers.get("last-event-id")), signal);
  }

  /** A user who asks for a task whose watch ended without a final state makes it go on. */
  async function resume(): Promise<void> {
    if (!watch.task || !mayResume(watch.task, Date.now())) return;
    await orders.goOn(watch.task);
  }

  /** Answers with what is known. The gateway is asked where nothing is. */
  async function read(as: string): Promise<Response> {
    await resume();
    if (!watch.task?.envelope && !watch.task?.end && Date.now() >= (watch.task?.nextAt ?? 0))
      await pollOnce();
    if (!watch.task) throw new Refusal("upstream_unreachable");
    if (!watch.task.end) watch.task = { ...watch.task, lastReaderAt: Date.now() };
    const { envelope, failure, end } = watch.task;
    if (end?.error !== undefined) throw refusalIn(end as FailedAnswer);
    if (envelope === undefined) throw failure ? refusalIn(failure) : new Refusal("upstream_unreachable");
    return new Response(named(watch.task, envelope, as), { headers: { "content-type": "application/json" } });
  }

  /** Sets the alarm where there is none, and sets it earlier for the first reader. */
  async function wake(known: WatchedTask): Promise<void> {
    const alarmAt = await storage.getAlarm();
    const soonest = Math.max(Date.now(), soonestPoll(known, intervalMs));
    const isSlow = readers.count === 0 && known.failures === 0 && alarmAt !== null && soonest < alarmAt;
    if (alarmAt === null || isSlow) await storage.setAlarm(soonest);
  }

  async function alarm(): Promise<void> {
    // the platform drops an alarm that fails some times: the watch goes on when the newer Worker is back
    if (watch.tooNew !== undefined) return storage.setAlarm(Date.now() + TOO_NEW_MS);
    if (!watch.task) return;
    const isAbandoned =
      !watch.task.created &&
      readers.count === 0 &&
      Date.now() - watch.task.lastReaderAt >= ABANDONED_AFTER_MS;
    if (watch.task.end) return await afterEnd(watch.task, watch.task.end);
    if (isAbandoned) {
      reportEnd(watch.task, "orphaned", "no_reader");
      return watch.forget();
    }
    try {
      await pollOnce();
    } catch (error) {
      // the platform calls the alarm again; until then clients poll themselves
      readers.close();
      throw error;
    }
  }
}
