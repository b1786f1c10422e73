import type { Transaction } from "@sluice/worker-proxy";
import { operation } from "../host/define.js";
import { createEndedTask, type EndRows } from "./end-handler.js";
import { POLL_MS } from "./query-task.js";
import { deleteWatch, readWatch, storeWatch } from "./rows.js";
import { applyResult, getEndState, getSoonestPoll, isAbandoned, resume, type WatchedTask } from "./task.js";
import type { PollResult } from "./task-response.js";
import { cancelTimer, FORGET, POLL, type RowId, setTimer } from "./timers.js";

const HOUR_MS = 60 * 60_000;
const RETENTION_MS = { created: 7 * 24 * HOUR_MS, other: 10 * 60_000 };
/** Time after which a poll whose process was lost is repeated. */
const LOST_POLL_MS = POLL_MS + 10_000;

/** The rules of a plugin's watches. */
export type WatchRules = {
  readonly intervalMs: number;
  /** Time for which an end is stored; null for the usual one. */
  readonly retentionMs: number | null;
  /** True if watches begin with the create of a task. */
  readonly isSteady: boolean;
};

type Run = RowId & { readonly run: string; readonly rules: WatchRules };
type Apply = Run & {
  readonly result: PollResult;
  readonly random: number;
  /** See {@link createEndedTask}. */
  readonly hash: string;
  /** The names of the handlers after a task that was watched from its create, and after others. */
  readonly handlers: { readonly created: readonly string[]; readonly other: readonly string[] };
};

/** The begin of a poll: the watch, or the watch that was deleted because it has no reader. */
export type BegunPoll =
  | { readonly type: "poll"; readonly task: WatchedTask }
  | { readonly type: "abandoned"; readonly task: WatchedTask }
  | { readonly type: "none" };

/** Creates the operations of polls. @param getEnds returns the work after ends; undefined if there is none */
export function createPollOperations(getEnds: () => EndRows | undefined) {
  /** Begins a poll, and stores it before it is sent: a process that is lost meanwhile has polled. */
  const beginPoll = operation(
    "videos.beginPoll",
    async (transaction, { id, run, rules }: Run): Promise<BegunPoll> => {
      const { now } = transaction;
      const task = await readWatch(transaction, id);
      if (!task || task.end) return { type: "none" };
      if (task.polling === run) return { type: "poll", task };
      if (isAbandoned(task, now)) {
        await removeWatch(transaction, id, getEnds());
        return { type: "abandoned", task };
      }
      const soonest = isPolling(task, now)
        ? task.askedAt + LOST_POLL_MS
        : getSoonestPoll(task, rules.intervalMs);
      if (now < soonest) {
        await setTimer(transaction, POLL, id, Math.max(soonest, task.nextAt));
        return { type: "none" };
      }
      const next = { ...task, askedAt: now, polls: task.polls + 1, polling: run };
      await storeWatch(transaction, next, task);
      // another process continues if this one is lost
      await setTimer(transaction, POLL, id, now + LOST_POLL_MS);
      return { type: "poll", task: next };
    },
  );

  /** Applies the result of a poll. Returns the watch if this poll has ended it; null otherwise. */
  const applyPoll = operation("videos.applyPoll", async (transaction, input: Apply) => {
    const { id, run, result, random, hash, handlers } = input;
    const { intervalMs, retentionMs } = input.rules;
    const task = await readWatch(transaction, id);
    if (task?.polled === run) return isNewEnd(task) ? task : null;
    if (!task || task.end || task.polling !== run) return null;
    const { polling: _, ...rest } = task;
    const retained = retentionMs ?? (task.created ? RETENTION_MS.created : RETENTION_MS.other);
    const pace = { intervalMs, random, retentionMs: retained };
    const next = { ...applyResult(rest, result, pace, transaction.now), polled: run };
    await storeWatch(transaction, next, task);
    if (next.version !== task.version) transaction.publish();
    if (!next.end) {
      await setTimer(transaction, POLL, id, next.nextAt);
      return null;
    }
    await cancelTimer(transaction, POLL, id);
    await setTimer(transaction, FORGET, id, next.end.retainedUntil);
    const names = next.created ? handlers.created : handlers.other;
    if (names.length > 0) await getEnds()?.add(transaction, id, createEndedTask(next, next.end, hash), names);
    return isNewEnd(next) ? next : null;
  });

  /** Polls again for an operator. */
  const pollAgain = operation("videos.pollAgain", async (transaction, { id }: RowId) => {
    const task = await readWatch(transaction, id);
    if (task?.end?.error !== undefined) {
      await storeWatch(transaction, resume(task, transaction.now), task);
      await setTimer(transaction, POLL, id, transaction.now);
      transaction.publish();
    }
    return null;
  });

  return { beginPoll, applyPoll, pollAgain };
}

/** Ends and deletes a watch, and the work after its ends. */
export async function removeWatch(
  transaction: Transaction,
  id: string,
  ends: EndRows | undefined,
): Promise<void> {
  await cancelTimer(transaction, POLL, id);
  await cancelTimer(transaction, FORGET, id);
  await deleteWatch(transaction, id);
  await ends?.remove(transaction, id);
}

/** Returns true while a poll is under way. */
export function isPolling(task: WatchedTask, now: number): boolean {
  return task.polling !== undefined && now < task.askedAt + LOST_POLL_MS;
}

/** Returns false for the end of a watch that was resumed and has ended as before. */
function isNewEnd({ end, told, ...task }: WatchedTask): boolean {
  return end !== undefined && told !== getEndState(task, end);
}
