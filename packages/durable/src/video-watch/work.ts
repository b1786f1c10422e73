import { logError } from "@sluice/worker-proxy/internal";
import { LETTER_KEPT_MS } from "../notices/dead-letter-rows.js";
import type { ObjectStorage } from "../objects/object.js";
import { type EndedTask, endedTask, type GivenUp } from "./end.js";
import type { WatchParts } from "./parts.js";
import type { openPolling } from "./poll.js";
import type { WatchState } from "./state.js";
import type { CreatedTask, TaskEnd, WatchedTask } from "./task.js";
import { nameOf } from "./video-events.js";

/** Shortest pause after a handler that threw. */
const FAILED_WORK_MS = 5 * 60_000;

/** Opens the work after the end of a task. */
export function openEndWork(
  watch: WatchState,
  storage: ObjectStorage,
  { onEnd, keepLetter }: WatchParts,
  reportEnd: ReturnType<typeof openPolling>["reportEnd"],
) {
  return { afterEnd };

  /** Does what is left to do after the end, and forgets it when its time is over. */
  async function afterEnd(known: WatchedTask, end: TaskEnd): Promise<void> {
    const { created, isDone } = known;
    if (onEnd && created && !isDone) {
      const nextAt = await workAfter(known, created, end, onEnd);
      // erased meanwhile
      if (!watch.task?.end) return;
      const { again, ...rest } = watch.task;
      // wanted again meanwhile
      if (again && again !== known.again) return storage.setAlarm(Date.now());
      // a handler that saves nothing has seen it all the same
      if (again || nextAt === undefined) await watch.store({ ...rest, isDone: nextAt === undefined });
      if (nextAt !== undefined) return storage.setAlarm(nextAt);
    }
    const keepUntil = watch.task?.end?.keepUntil ?? end.keepUntil;
    if (Date.now() >= keepUntil) return watch.forget();
    await storage.setAlarm(keepUntil);
  }

  /** Lets the operator's handler work. One that throws is called again until the end is forgotten. */
  async function workAfter(
    known: WatchedTask,
    created: CreatedTask,
    end: TaskEnd,
    handler: NonNullable<WatchParts["onEnd"]>,
  ): Promise<number | undefined> {
    const ended = await endedTask(known, created, end);
    const { progress, again = [] } = known;
    const save = async (next: unknown) => {
      // nothing is written after the user was erased
      if (!watch.task) return false;
      const { again: asked, ...rest } = watch.task;
      const later = asked?.slice(again.length) ?? [];
      await watch.store({ ...rest, progress: next, ...(later.length > 0 && { again: later }) });
      return true;
    };
    try {
      return await handler(ended, { progress, again, save, giveUp: (part) => giveUp(part, ended) });
    } catch {
      const isOver = Date.now() >= end.keepUntil;
      logError(
        `videoWatch: onEnd of task ${known.id} failed; ${isOver ? "it is given up" : "it is called again"}`,
      );
      if (isOver) reportEnd(known, "dropped", "on_end_failed");
      // ever less often
      const pause = Math.max(FAILED_WORK_MS, Date.now() - end.at);
      return isOver ? undefined : Math.min(Date.now() + pause, end.keepUntil);
    }
  }

  /** Keeps a letter, and the end for as long as it can be sent again. */
  async function giveUp(part: GivenUp, ended: EndedTask): Promise<void> {
    if (!keepLetter || !watch.task?.end) return;
    const { id, userId: user, gatewayId: taskId, model, requestId } = ended;
    const object = await nameOf(user, taskId);
    const at = Date.now();
    const facts = { user, taskId, model, requestId };
    await keepLetter({ id: `${id}:${part.name}`, object, ...part, ...facts, at });
    const end = { ...watch.task.end, keepUntil: Math.max(watch.task.end.keepUntil, at + LETTER_KEPT_MS) };
    await watch.store({ ...watch.task, end });
  }
}
