import type { Reader, Transaction } from "@sluice/worker-proxy";
import { operation, reading } from "../host/define.js";
import { DEAD_LETTER_RETENTION_MS, type defineDeliveries, type RowId, readDeliveries } from "./deliveries.js";
import { isPolling, removeWatch, schedulePoll, type WatchJobs, type WatchRules } from "./polls.js";
import {
  hasOpenWatches,
  type KnownVersion,
  readChangedWatches,
  readWatch,
  readWatches,
  storeWatch,
} from "./rows.js";
import {
  addCreate,
  addReader,
  type CreatedTask,
  canResume,
  createWatch,
  resume,
  type WatchedTask,
} from "./task.js";

/** Most tasks of one user that are watched at once. */
export const MAX_OPEN_WATCHES = 1_000;
/** Watches that one read or one erasure takes. */
export const PAGE = 100;
/** Time without a note after which a reader is noted again, in milliseconds. */
export const READER_NOTE_MS = 60_000;
const HOUR_MS = 60 * 60_000;

type Start = RowId & {
  readonly userId: string;
  readonly created: CreatedTask;
  /** The task in the gateway's response to the create, if it shows one. */
  readonly envelope: string | null;
  readonly random: number;
  readonly maxOpen: number | null;
};
type Open = RowId & {
  readonly userId: string;
  readonly firstPollInMs: number;
  readonly maxOpen: number | null;
};

/** The watch of a user, or the reason why there is none. */
export type Opened =
  | { readonly task: WatchedTask; readonly isDue: boolean }
  | { readonly refused: "too_many_tasks" };

/** Defines the operations on watches. */
export function defineWatches(
  jobs: WatchJobs,
  { intervalMs, isSteady }: WatchRules,
  deliveries: ReturnType<typeof defineDeliveries>,
) {
  /** Starts the watch of a new task. */
  const start = operation("videos.start", async (transaction: Transaction, input: Start) => {
    const { id, userId, created, envelope, random } = input;
    const known = await readWatch(transaction, id);
    if (known?.created || known?.end) return {};
    if (!known && (await isFull(transaction, input.maxOpen))) return { refused: "too_many_tasks" } as const;
    const identity = { id, userId, isSteady: true };
    const watch = known ?? createWatch(identity, transaction.now);
    const next = addCreate(watch, created, envelope ?? undefined, { intervalMs, random });
    await storeWatch(transaction, next, known);
    await schedulePoll(transaction, jobs, next.id, next.nextAt);
    transaction.publish();
    return {};
  });

  /** Opens a watch for a reader: creates it, or continues it if it has ended without a final state. */
  const open = operation("videos.open", async (transaction: Transaction, input: Open): Promise<Opened> => {
    const { id, userId, firstPollInMs } = input;
    const { now } = transaction;
    const known = await readWatch(transaction, id);
    if (!known && (await isFull(transaction, input.maxOpen))) return { refused: "too_many_tasks" };
    const task = known ?? createWatch({ id, userId, isSteady }, now);
    if (task.end && !canResume(task, now)) return { task, isDue: false };
    const next = task.end ? resume(task, now) : addReader(task, now, intervalMs);
    await storeWatch(transaction, next, known);
    const isNew = !known || task.end !== undefined;
    if (isNew) await schedulePoll(transaction, jobs, id, now + firstPollInMs);
    // a timer that is long over was lost with its processes
    else if (next.nextAt < task.nextAt || isPollLost(task, now))
      await schedulePoll(transaction, jobs, id, Math.max(next.nextAt, now));
    if (next.version !== task.version) transaction.publish();
    return { task: next, isDue: task.end !== undefined || isPollDue(next, now) };
  });

  /** Notes that tasks still have readers. */
  const noteReaders = operation(
    "videos.noteReaders",
    async (transaction: Transaction, { ids }: { readonly ids: readonly string[] }) => {
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
  const markRemoved = operation("videos.remove", async (transaction: Transaction, { id }: RowId) => {
    const task = await readWatch(transaction, id);
    if (task && !task.isRemoved) await storeWatch(transaction, { ...task, isRemoved: true }, task);
    return null;
  });

  /** Deletes an ended task that nothing needs any more, or looks again later. */
  const forgetTask = operation("videos.forget", async (transaction: Transaction, { id }: RowId) => {
    const { now } = transaction;
    const task = await readWatch(transaction, id);
    if (!task?.end) return null;
    const rows = await readDeliveries(transaction, id);
    const needs = rows.flatMap(({ state, at }) => {
      if (state === "dead") return at + DEAD_LETTER_RETENTION_MS;
      return state === "done" ? [] : now + HOUR_MS;
    });
    const at = Math.max(task.end.retainedUntil, ...needs);
    if (now < at) await transaction.schedule(jobs.forget, { id, at, input: { id } });
    else await removeWatch(transaction, jobs, id);
    return null;
  });

  /** Deletes up to {@link PAGE} watches of a user. Returns those that had something left to do. */
  const erase = operation("videos.erase", async (transaction: Transaction, _: null) => {
    const tasks = await readWatches(transaction, "", PAGE);
    const stopped: WatchedTask[] = [];
    for (const task of tasks) {
      const hadWork = await deliveries.cancel(transaction, task.id);
      await removeWatch(transaction, jobs, task.id);
      if (!task.end || hadWork) stopped.push(task);
    }
    if (tasks.length > 0) transaction.publish();
    return { stopped, isDone: tasks.length < PAGE };
  });

  const read = reading("videos.read", async (reader: Reader, { id }: RowId) =>
    readWatch(reader, id).then((task) => task ?? null),
  );

  /** Reads the watches that have another version than a follower knows; null for those that are gone. */
  const readChanges = reading(
    "videos.readChanges",
    async (reader: Reader, { known }: { readonly known: readonly KnownVersion[] }) =>
      readChangedWatches(reader, known),
  );

  const list = reading("videos.list", async (reader: Reader, { after }: { readonly after: string }) =>
    readWatches(reader, after, PAGE),
  );

  return {
    ...{ start, open, noteReaders, markRemoved },
    ...{ forgetTask, erase, read, readChanges, list },
  };
}

/** Returns true if nothing is known of a task that may be polled now. */
function isPollDue(task: WatchedTask, now: number): boolean {
  const { envelope, end, nextAt } = task;
  return envelope === undefined && !end && now >= nextAt && !isPolling(task, now);
}

/** Returns true if a poll has been due for longer than any poll takes. */
function isPollLost(task: WatchedTask, now: number): boolean {
  return now >= task.nextAt + HOUR_MS && !isPolling(task, now);
}

async function isFull(transaction: Transaction, maxOpen: number | null): Promise<boolean> {
  return maxOpen !== null && (await hasOpenWatches(transaction, maxOpen));
}
