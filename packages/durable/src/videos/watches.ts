import { operation, reading, type Transaction } from "@sluice/worker-proxy/plugin";
import { declareJob } from "../host/define.js";
import { addDeliveries, deleteDeliveries, hasDeliveries } from "./deliveries.js";
import { createEndedTask } from "./ends.js";
import { deleteWatch, findChanges, hasOpenWatches, readWatch, readWatches, storeWatch } from "./rows.js";
import {
  applyResult,
  type CreatedTask,
  createWatch,
  isNewEnd,
  isStale,
  resumeWatch,
  type WatchedTask,
  type WatchRules,
} from "./task.js";
import type { PollResult } from "./task-response.js";

/** Maximum number of open watches, for one user and for a public proxy. */
export const MAX_OPEN_WATCHES = { user: 1_000, public: 10_000 };
/** Number of watches per read or erasure. */
const PAGE = 100;
const HOUR_MS = 60 * 60_000;

/** Input of a job or an operation for one row. A timer has the id of its row. */
export type RowId = { readonly id: string };

/** Polls a task, and deletes it after its retention. */
export const POLL = declareJob<RowId>("videos.poll");

type WatchInput = RowId & {
  readonly userId: string;
  readonly rules: WatchRules;
  /** Maximum number of open watches of the user. */
  readonly maxOpen: number;
  /** In [0, 1). */
  readonly random: number;
};
type StartInput = WatchInput & {
  readonly created: CreatedTask;
  /** The task in the gateway's response to the create; null if the response shows none. */
  readonly envelope: string | null;
};
type PollInput = WatchInput & {
  /** Unique id of the poll. */
  readonly run: string;
  /** Number of polls before this poll; -1 if this poll starts the watch. */
  readonly polls: number;
  readonly result: PollResult;
  /** See {@link createEndedTask}. */
  readonly hash: string;
  /** The names of the handlers. */
  readonly handlers: readonly string[];
};

/** Starts the watch of a new task. Returns false if the user has too many open watches. */
export const startWatch = operation(
  "videos.start",
  async (transaction, input: StartInput): Promise<boolean> => {
    const { created, envelope, rules, random } = input;
    if (await readWatch(transaction, input.id)) return true;
    if (await hasOpenWatches(transaction, input.maxOpen)) return false;
    const seen = { created, ...(envelope !== null && { envelope }) };
    const task = createWatch(input, transaction.now, { ...rules, random }, seen);
    await storeAndSchedule(transaction, task, undefined);
    return true;
  },
);

/** The watch after a poll. `isNewEnd` is true if this poll ended the watch. */
type AppliedPoll = { readonly task: WatchedTask | null; readonly isNewEnd?: boolean };

/**
 * Applies the result of a poll. Changes nothing if another poll was stored first. `task` is null if the watch was
 * erased, or can't start because the poll shows no task or the user has too many open watches.
 */
export const applyPoll = operation(
  "videos.applyPoll",
  async (transaction, input: PollInput): Promise<AppliedPoll> => {
    const { id, run, result, random, rules } = input;
    const { now } = transaction;
    const known = (await readWatch(transaction, id)) ?? null;
    if (known?.lastPoll === run) return { task: known, isNewEnd: isNewEnd(known) };
    const isOvertaken = (known?.polls ?? -1) !== input.polls || (known?.end && !isStale(known, now));
    const cannotBegin =
      !known && (result.type !== "task" || (await hasOpenWatches(transaction, input.maxOpen)));
    if (isOvertaken || cannotBegin) return { task: known };
    const open = known?.end ? resumeWatch(known) : known;
    const before = open ?? createWatch(input, now, { ...rules, random }, {});
    const task = { ...applyResult(before, result, { ...rules, random }, now), lastPoll: run };
    await storeAndSchedule(transaction, task, known ?? undefined);
    const hasEnded = isNewEnd(task);
    if (hasEnded && task.end && task.created)
      await addDeliveries(transaction, createEndedTask(task, task.end, input.hash), input.handlers);
    return { task, isNewEnd: hasEnded };
  },
);

async function storeAndSchedule(
  transaction: Transaction,
  task: WatchedTask,
  before: WatchedTask | undefined,
) {
  const { id, nextAt, version } = task;
  await storeWatch(transaction, task);
  await transaction.schedule(POLL, { id, at: nextAt, input: { id } });
  if (version !== before?.version) transaction.publish();
}

/** Marks the task as removed by its user. The watch continues, so that the operator still receives its end. */
export const markRemoved = operation("videos.remove", async (transaction, { id }: RowId) => {
  const task = await readWatch(transaction, id);
  if (task && !task.isRemoved) await storeWatch(transaction, { ...task, isRemoved: true });
  return null;
});

/** Deletes an ended task after its retention. While deliveries are pending, checks again every hour instead. */
export const checkTask = operation("videos.check", async (transaction, { id }: RowId) => {
  const task = await readWatch(transaction, id);
  if (!task?.end) return null;
  const isNeeded = await hasDeliveries(transaction, id);
  const at = isNeeded ? transaction.now + HOUR_MS : task.nextAt;
  if (transaction.now < at) await transaction.schedule(POLL, { id, at, input: { id } });
  else await deleteWatch(transaction, id);
  return null;
});

/** Deletes up to {@link PAGE} watches of a user. Returns the watches that were open or had pending deliveries. */
export const eraseWatches = operation("videos.erase", async (transaction, _: null) => {
  const tasks = await readWatches(transaction, "", PAGE);
  const stopped: WatchedTask[] = [];
  for (const task of tasks) {
    const hadWork = await deleteDeliveries(transaction, task.id);
    await transaction.cancel(POLL, task.id);
    await deleteWatch(transaction, task.id);
    if (!task.end || hadWork) stopped.push(task);
  }
  if (tasks.length > 0) transaction.publish();
  return { stopped, isDone: tasks.length < PAGE };
});

export const findWatch = reading("videos.read", async (reader, { id }: RowId) =>
  readWatch(reader, id).then((task) => task ?? null),
);

export const listWatches = reading("videos.list", async (reader, { after }: { readonly after: string }) =>
  readWatches(reader, after, PAGE),
);

export const WATCH_OPERATIONS = [
  ...[startWatch, applyPoll, markRemoved, checkTask, eraseWatches],
  ...[findWatch, findChanges, listWatches],
];
