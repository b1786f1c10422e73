import { operation, reading } from "../host/define.js";
import type { EndRows } from "./end-handler.js";
import { isPolling, removeWatch, type WatchRules } from "./polls.js";
import { findChanges, hasOpenWatches, readWatch, readWatches, storeWatch } from "./rows.js";
import {
  addCreate,
  addReader,
  type CreatedTask,
  canResume,
  createWatch,
  resume,
  type WatchedTask,
} from "./task.js";
import { FORGET, POLL, type RowId, setTimer } from "./timers.js";

/** Largest number of tasks that are watched at once: those of one user, and those of a public proxy. */
export const MAX_OPEN_WATCHES = { user: 1_000, public: 10_000 };
/** Watches that one read or one erasure takes. */
export const PAGE = 100;
/** Time without a note after which a reader is noted again, in milliseconds. */
export const READER_NOTE_MS = 60_000;
const HOUR_MS = 60 * 60_000;

type Begin = RowId & {
  readonly userId: string;
  readonly rules: WatchRules;
  /** Largest number of watches of the user that are open at once. */
  readonly maxOpen: number;
};
type Start = Begin & {
  readonly created: CreatedTask;
  /** The task in the gateway's response to the create, if it shows one. */
  readonly envelope: string | null;
  readonly random: number;
};
type Open = Begin & { readonly firstPollInMs: number };

/** The watch of a user, or the reason why there is none. */
export type Opened =
  | { readonly task: WatchedTask; readonly isDue: boolean }
  | { readonly refused: "too_many_tasks" };

/** Starts the watch of a new task. */
export const startWatch = operation("videos.start", async (transaction, input: Start) => {
  const { id, userId, created, envelope, random, rules } = input;
  const known = await readWatch(transaction, id);
  if (known?.created || known?.end) return {};
  if (!known && (await hasOpenWatches(transaction, input.maxOpen)))
    return { refused: "too_many_tasks" } as const;
  const identity = { id, userId, isSteady: true };
  const watch = known ?? createWatch(identity, transaction.now);
  const next = addCreate(watch, created, envelope ?? undefined, { intervalMs: rules.intervalMs, random });
  await storeWatch(transaction, next, known);
  await setTimer(transaction, POLL, next.id, next.nextAt);
  transaction.publish();
  return {};
});

/** Opens a watch for a reader: creates it, or continues it if it has ended without a final state. */
export const openWatch = operation("videos.open", async (transaction, input: Open): Promise<Opened> => {
  const { id, userId, firstPollInMs } = input;
  const { intervalMs, isSteady } = input.rules;
  const { now } = transaction;
  const known = await readWatch(transaction, id);
  if (!known && (await hasOpenWatches(transaction, input.maxOpen))) return { refused: "too_many_tasks" };
  const task = known ?? createWatch({ id, userId, isSteady }, now);
  if (task.end && !canResume(task, now)) return { task, isDue: false };
  const next = task.end ? resume(task, now) : addReader(task, now, intervalMs);
  await storeWatch(transaction, next, known);
  const isNew = !known || task.end !== undefined;
  if (isNew) await setTimer(transaction, POLL, id, now + firstPollInMs);
  // a timer that is long over was lost with its processes
  else if (next.nextAt < task.nextAt || isPollLost(task, now))
    await setTimer(transaction, POLL, id, Math.max(next.nextAt, now));
  if (next.version !== task.version) transaction.publish();
  return { task: next, isDue: task.end !== undefined || isPollDue(next, now) };
});

/** Notes that tasks still have readers. */
export const noteReaders = operation(
  "videos.noteReaders",
  async (transaction, { ids }: { readonly ids: readonly string[] }) => {
    const { now } = transaction;
    for (const id of ids) {
      const task = await readWatch(transaction, id);
      if (!task || task.end || now - task.lastReaderAt < READER_NOTE_MS / 2) continue;
      await storeWatch(transaction, { ...task, lastReaderAt: now }, task);
    }
    return null;
  },
);

/** Notes that the user has removed the task. The watch continues for the operator. */
export const markRemoved = operation("videos.remove", async (transaction, { id }: RowId) => {
  const task = await readWatch(transaction, id);
  if (task && !task.isRemoved) await storeWatch(transaction, { ...task, isRemoved: true }, task);
  return null;
});

/** Creates the operations that delete watches. @param getEnds returns the work after ends; undefined if there is none */
export function createDeletions(getEnds: () => EndRows | undefined) {
  /** Deletes an ended task that nothing needs any more, or looks again later. */
  const forgetTask = operation("videos.forget", async (transaction, { id }: RowId) => {
    const { now } = transaction;
    const task = await readWatch(transaction, id);
    if (!task?.end) return null;
    const neededUntil = (await getEnds()?.readNeeds(transaction, id)) ?? 0;
    const at = Math.max(task.end.retainedUntil, neededUntil);
    if (now < at) await setTimer(transaction, FORGET, id, at);
    else await removeWatch(transaction, id, getEnds());
    return null;
  });

  /** Deletes up to {@link PAGE} watches of a user. Returns those that had something left to do. */
  const eraseWatches = operation("videos.erase", async (transaction, _: null) => {
    const tasks = await readWatches(transaction, "", PAGE);
    const stopped: WatchedTask[] = [];
    for (const task of tasks) {
      const hadWork = await getEnds()?.cancel(transaction, task.id);
      await removeWatch(transaction, task.id, getEnds());
      if (!task.end || hadWork) stopped.push(task);
    }
    if (tasks.length > 0) transaction.publish();
    return { stopped, isDone: tasks.length < PAGE };
  });

  return { forgetTask, eraseWatches };
}

export const findWatch = reading("videos.read", async (reader, { id }: RowId) =>
  readWatch(reader, id).then((task) => task ?? null),
);

export const listWatches = reading("videos.list", async (reader, { after }: { readonly after: string }) =>
  readWatches(reader, after, PAGE),
);

/** Returns true if nothing is known of a task that may be polled now. */
function isPollDue(task: WatchedTask, now: number): boolean {
  const { envelope, end, nextAt } = task;
  return envelope === undefined && !end && now >= nextAt && !isPolling(task, now);
}

/** Returns true if a poll has been due for longer than any poll takes. */
function isPollLost(task: WatchedTask, now: number): boolean {
  return now >= task.nextAt + HOUR_MS && !isPolling(task, now);
}

export const WATCH_OPERATIONS = [
  ...[startWatch, openWatch, noteReaders, markRemoved],
  ...[findWatch, findChanges, listWatches],
];
