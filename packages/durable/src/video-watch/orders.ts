import type { ObjectStorage } from "../objects/object.js";
import type { openReaders } from "../objects/readers.js";
import { exportedTask } from "./answers.js";
import type { WatchParts } from "./parts.js";
import { CREATED_KEPT_MS, type openPolling } from "./poll.js";
import type { WatchState } from "./state.js";
import { type CreatedTask, createdTask, resumedTask, type WatchedTask } from "./task.js";
import { KEPT } from "./video-events.js";

/** Opens what a proxy, a user and an operator order of a watch: its start, removal, erasure, and going on. */
export function openOrders(
  watch: WatchState,
  storage: ObjectStorage,
  readers: ReturnType<typeof openReaders>,
  { intervalMs, rememberMs, onEnd }: WatchParts,
  { pollOnce, reportEnd }: ReturnType<typeof openPolling>,
) {
  return { start, erase, pollAgain, remove, resend, goOn };

  async function start(
    known: WatchedTask,
    { created, receipt }: { readonly created: CreatedTask; readonly receipt: unknown },
  ): Promise<Response> {
    if (!known.created && !known.end) {
      const next = createdTask(known, created, receipt, intervalMs);
      await watch.wakeAndStore(next.nextAt, next);
      readers.wake();
    }
    return new Response(null, { status: 204, headers: { [KEPT]: String(rememberMs ?? CREATED_KEPT_MS) } });
  }

  /** Ends the watch and the work after its end, and deletes it. */
  async function erase(): Promise<Response> {
    const erased = watch.task;
    readers.close();
    await storage.deleteAlarm();
    await watch.forget();
    const hasWork = erased && (!erased.end || (onEnd && erased.created && !erased.isDone));
    if (hasWork) reportEnd(erased, "stopped", "user_erased");
    return new Response(null, { status: 204 });
  }

  /** Polls for an operator, and goes on where the watch ended without a final state. A gateway's `Retry-After` is not waited for. */
  async function pollAgain(): Promise<Response> {
    if (watch.task?.end?.error !== undefined) await goOn(watch.task);
    else await pollOnce();
    return Response.json(watch.task ? exportedTask(watch.task) : null);
  }

  /** Notes that the user has removed the task. The watch goes on for the operator's sake. */
  async function remove(): Promise<Response> {
    if (watch.task && !watch.task.isRemoved) await watch.store({ ...watch.task, isRemoved: true });
    return new Response(null, { status: 204 });
  }

  /** Does a part of the work after the end again. A watch that goes on will tell of another end. */
  async function resend(letter: string): Promise<Response> {
    if (!watch.task?.end || !watch.task.created) return new Response(null, { status: 404 });
    const name = letter.slice(letter.indexOf(":") + 1);
    const again = [...(watch.task.again ?? []), name];
    await watch.wakeAndStore(Date.now(), { ...watch.task, again, isDone: false });
    return new Response(null, { status: 204 });
  }

  async function goOn(over: WatchedTask): Promise<void> {
    const now = Date.now();
    await watch.wakeAndStore(now, resumedTask(over, now));
    await pollOnce();
  }
}
