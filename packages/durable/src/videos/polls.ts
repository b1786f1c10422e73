import type { Job, Transaction } from "@sluice/worker-proxy";
import { operation } from "../host/define.js";
import type { defineDeliveries, RowId } from "./deliveries.js";
import { createEndedTask } from "./end-handler.js";
import { POLL_MS } from "./query-task.js";
import { deleteWatch, readWatch, storeWatch } from "./rows.js";
import { applyResult, getEndState, getSoonestPoll, isAbandoned, resume, type WatchedTask } from "./task.js";
import type { PollResult } from "./task-response.js";

const HOUR_MS = 60 * 60_000;
const RETENTION_MS = { created: 7 * 24 * HOUR_MS, other: 10 * 60_000 };
/** Time after which a poll whose process was lost is repeated. */
const LOST_POLL_MS = POLL_MS + 10_000;

/** The jobs of watches. */
export interface WatchJobs {
  readonly poll: Job<RowId>;
  /** Deletes a task once nothing needs it. */
  readonly forget: Job<RowId>;
}

/** The rules of a plugin's watches. */
export interface WatchRules {
  readonly intervalMs: number;
  readonly retentionMs: number | undefined;
  readonly isSteady: boolean;
  /** Returns the names of the handlers of an end. */
  readonly getHandlers: (isCreated: boolean) => readonly string[];
}

type Run = RowId & { readonly run: string };
type Apply = Run & {
  readonly result: PollResult;
  readonly random: number;
  /** See {@link createEndedTask}. */
  readonly hash: string;
};

/** The begin of a poll: the watch, or the watch that was deleted because nobody reads it. */
export type BegunPoll =
  | { readonly type: "poll"; readonly task: WatchedTask }
  | { readonly type: "abandoned"; readonly task: WatchedTask }
  | { readonly type: "none" };

/** Defines the operations of polls. */
export function definePolls(
  jobs: WatchJobs,
  { intervalMs, retentionMs, getHandlers }: WatchRules,
  deliveries: ReturnType<typeof defineDeliveries>,
) {
  /** Begins a poll, and stores it before it is sent: a process that is lost meanwhile has polled. */
  const beginPoll = operation(
    "videos.beginPoll",
    async (transaction: Transaction, { id, run }: Run): Promise<BegunPoll> => {
      const { now } = transaction;
      const task = await readWatch(transaction, id);
      if (!task || task.end) return { type: "none" };
      if (task.polling === run) return { type: "poll", task };
      if (isAbandoned(task, now)) {
        await removeWatch(transaction, jobs, id);
        return { type: "abandoned", task };
      }
      const soonest = isPolling(task, now) ? task.askedAt + LOST_POLL_MS : getSoonestPoll(task, intervalMs);
      if (now < soonest) {
        await schedulePoll(transaction, jobs, id, Math.max(soonest, task.nextAt));
        return { type: "none" };
      }
      const next = { ...task, askedAt: now, polls: task.polls + 1, polling: run };
      await storeWatch(transaction, next, task);
      // another process continues if this one is lost
      await schedulePoll(transaction, jobs, id, now + LOST_POLL_MS);
      return { type: "poll", task: next };
    },
  );

  /** Applies the result of a poll. Returns the watch if this poll has ended it; null otherwise. */
  const applyPoll = operation("videos.applyPoll", async (transaction: Transaction, input: Apply) => {
    const { id, run, result, random, hash } = input;
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
      await schedulePoll(transaction, jobs, id, next.nextAt);
      return null;
    }
    await transaction.cancel(jobs.poll as Job<never>, id);
    await transaction.schedule(jobs.forget, { id, at: next.end.retainedUntil, input: { id } });
    const names = getHandlers(next.created !== undefined);
    if (names.length > 0) await deliveries.add(transaction, id, createEndedTask(next, next.end, hash), names);
    return isNewEnd(next) ? next : null;
  });

  /** Polls again for an operator. */
  const pollAgain = operation("videos.pollAgain", async (transaction: Transaction, { id }: RowId) => {
    const task = await readWatch(transaction, id);
    if (task?.end?.error !== undefined) {
      await storeWatch(transaction, resume(task, transaction.now), task);
      await schedulePoll(transaction, jobs, id, transaction.now);
      transaction.publish();
    }
    return null;
  });

  return { beginPoll, applyPoll, pollAgain };
}

/** Sets the time of the next poll. */
export async function schedulePoll(
  transaction: Transaction,
  { poll }: WatchJobs,
  id: string,
  at: number,
): Promise<void> {
  await transaction.schedule(poll, { id, at, input: { id } });
}

/** Ends and deletes a watch. */
export async function removeWatch(
  transaction: Transaction,
  { poll, forget }: WatchJobs,
  id: string,
): Promise<void> {
  await transaction.cancel(poll as Job<never>, id);
  await transaction.cancel(forget as Job<never>, id);
  await deleteWatch(transaction, id);
}

/** Returns true while a poll is under way. */
export function isPolling(task: WatchedTask, now: number): boolean {
  return task.polling !== undefined && now < task.askedAt + LOST_POLL_MS;
}

/** Returns false for the end of a watch that was resumed and has ended as before. */
function isNewEnd({ end, told, ...task }: WatchedTask): boolean {
  return end !== undefined && told !== getEndState(task, end);
}
