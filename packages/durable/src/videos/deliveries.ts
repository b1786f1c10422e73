import type { Reader, Transaction } from "@sluice/worker-proxy";
import { operation, reading } from "../host/define.js";
import type { EndedTask, EndRows } from "./end-handler.js";
import { readWatch } from "./rows.js";
import { cancelTimer, declareJob, FORGET, type RowId, setTimer } from "./timers.js";

/** Table of the work after ends. The key is the user's. */
export const DELIVERY_TABLES = [
  `CREATE TABLE IF NOT EXISTS video_ends (key TEXT NOT NULL, id TEXT NOT NULL, task TEXT NOT NULL,
    handler TEXT NOT NULL, state TEXT NOT NULL, attempts BIGINT NOT NULL, run TEXT, at BIGINT NOT NULL, status BIGINT,
    cause TEXT, ended TEXT NOT NULL, PRIMARY KEY (key, id))`,
  "CREATE INDEX IF NOT EXISTS video_ends_task ON video_ends (key, task)",
];

/** Jobs of the handlers of one plugin: `deliver` runs one attempt, `list` lists a delivery that was given up. */
export function declareDeliveryJobs(plugin: string) {
  return { deliver: declareJob(`${plugin}.deliver`), list: declareJob(`${plugin}.listDeadLetter`) };
}

const JOBS = { watch: declareDeliveryJobs("videos"), archive: declareDeliveryJobs("files") };

/** Returns the jobs of a handler. The name of an app's function has no dot. */
function findJobs(handler: string) {
  return handler.includes(".") ? JOBS.archive : JOBS.watch;
}

/** Progress of one handler with one end. */
export type Delivery = {
  /** Id of the end and name of the handler. */
  readonly id: string;
  /** The gateway's id of the task. */
  readonly task: string;
  readonly handler: string;
  readonly state: "waiting" | "running" | "done" | "dead";
  /** Number of attempts, the one that runs included. */
  readonly attempts: number;
  /** Id of the last attempt. */
  readonly run: string | null;
  /** Time of the next attempt; of a dead letter, the time at which it was given up. */
  readonly at: number;
  /** The receiver's last status. */
  readonly status: number | null;
  /** Why the last attempt failed. */
  readonly cause: string | null;
  /** The {@link EndedTask} as JSON; empty once it is done. */
  readonly ended: string;
};

/** The result of one attempt. */
export type Attempted = {
  readonly failure?: string;
  readonly upstreamStatus?: number;
  /** True if the receiver wants no further attempt. */
  readonly isRefusal?: boolean;
};

/** The state of a delivery after an attempt; null if its user was erased meanwhile. */
export type DeliveryResult = Pick<Delivery, "state" | "attempts" | "at"> | null;

/** An attempt that may begin, or the result of one that was lost with its process. */
export type BegunDelivery =
  | { readonly handler: string; readonly attempts: number; readonly ended: EndedTask }
  | { readonly lost: NonNullable<DeliveryResult>; readonly handler: string; readonly ended: EndedTask }
  | null;

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
/** Pauses between two attempts, in milliseconds. */
const PAUSES_MS = [5 * SECOND, MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR];
/** Number of attempts. */
export const MAX_ATTEMPTS = PAUSES_MS.length + 1;
/** Time for which a dead letter is stored. */
const DEAD_LETTER_RETENTION_MS = 7 * 24 * HOUR;
const MAX_CAUSE_CHARACTERS = 500;
/** The result of an attempt whose process was lost. */
export const LOST_ATTEMPT: Attempted = { failure: "the process ended during the attempt" };

/** Begins an attempt, and counts it before the handler runs. */
export const beginDelivery = operation(
  "videos.beginDelivery",
  async (transaction, { id, run }: RowId & { run: string }): Promise<BegunDelivery> => {
    const row = await readDelivery(transaction, id);
    if (!row || row.state === "done" || row.state === "dead") return null;
    const { handler, attempts } = row;
    // its user may have removed the task since
    const { isRemoved = false } = (await readWatch(transaction, row.task)) ?? {};
    const ended: EndedTask = { ...JSON.parse(row.ended), isRemoved };
    if (row.run === run && row.state === "running") return { handler, attempts, ended };
    if (row.state === "running") return { lost: await fail(transaction, row, LOST_ATTEMPT), handler, ended };
    if (transaction.now < row.at) {
      await setTimer(transaction, findJobs(handler).deliver, id, row.at);
      return null;
    }
    await storeDelivery(transaction, { ...row, state: "running", attempts: attempts + 1, run });
    return { handler, attempts: attempts + 1, ended };
  },
);

export const endDelivery = operation(
  "videos.endDelivery",
  async (
    transaction,
    { id, run, attempted }: RowId & { run: string; attempted: Attempted },
  ): Promise<DeliveryResult> => {
    const row = await readDelivery(transaction, id);
    if (!row) return null;
    if (attempted.failure === undefined) return await complete(transaction, row, attempted);
    // counted already, or by another process after this one stood still
    if (row.run !== run || row.state !== "running") return row;
    return await fail(transaction, row, attempted);
  },
);

/** Tries a dead letter again. Returns false if it is gone, or was delivered meanwhile. */
export const resendDelivery = operation("videos.resend", async (transaction, { id }: RowId) => {
  const row = await readDelivery(transaction, id);
  if (!row || row.state === "done") return false;
  if (row.state !== "dead") return true;
  const { now } = transaction;
  await storeDelivery(transaction, { ...row, state: "waiting", attempts: 0, run: null, at: now });
  await setTimer(transaction, findJobs(row.handler).deliver, id, now);
  return true;
});

export const findDelivery = reading("videos.findDelivery", async (reader, { id }: RowId) =>
  readDelivery(reader, id).then((row) => row ?? null),
);

/** Adds the work of all handlers after an end. Handlers that have the same end already are left alone. */
async function addDeliveries(
  transaction: Transaction,
  task: string,
  ended: EndedTask,
  handlers: readonly string[],
): Promise<void> {
  const { key, now, query } = transaction;
  // an end that is wrong by now is not told any more
  for (const { id, state, handler } of await readDeliveries(transaction, task))
    if (state === "waiting" && !id.startsWith(`${ended.id}:`)) await cancelOne(transaction, id, handler);
  for (const handler of handlers) {
    const id = `${ended.id}:${handler}`;
    const added = await query(
      `INSERT INTO video_ends (key, id, task, handler, state, attempts, at, ended)
        VALUES (?, ?, ?, ?, 'waiting', 0, ?, ?) ON CONFLICT (key, id) DO NOTHING RETURNING id`,
      ...[key, id, task, handler, now, JSON.stringify(ended)],
    );
    if (added.length > 0) await setTimer(transaction, findJobs(handler).deliver, id, now);
  }
}

/** Ends all work after the ends of a task. Returns true if some of it was not done. */
async function cancelDeliveries(transaction: Transaction, task: string): Promise<boolean> {
  const rows = await readDeliveries(transaction, task);
  for (const { id, handler } of rows) await cancelOne(transaction, id, handler);
  return rows.some(({ state }) => state === "waiting" || state === "running");
}

async function cancelOne(transaction: Transaction, id: string, handler: string): Promise<void> {
  const { deliver, list } = findJobs(handler);
  await Promise.all([
    cancelTimer(transaction, deliver, id),
    cancelTimer(transaction, list, id),
    transaction.query("DELETE FROM video_ends WHERE key = ? AND id = ?", transaction.key, id),
  ]);
}

async function complete(transaction: Transaction, row: Delivery, { upstreamStatus }: Attempted) {
  const status = upstreamStatus ?? null;
  const done = { ...row, state: "done", at: transaction.now, status, cause: null, ended: "" } as const;
  if (row.state === "done") return row;
  await storeDelivery(transaction, done);
  return done;
}

async function fail(transaction: Transaction, row: Delivery, attempted: Attempted) {
  const { id, attempts, task } = row;
  const { now } = transaction;
  const pause = PAUSES_MS[attempts - 1];
  const cause = (attempted.failure ?? "").replaceAll("\0", " ").slice(0, MAX_CAUSE_CHARACTERS);
  const failed = { ...row, cause, status: attempted.upstreamStatus ?? null };
  if (pause === undefined || attempted.isRefusal) {
    const dead = { ...failed, state: "dead", at: now } as const;
    await storeDelivery(transaction, dead);
    await setTimer(transaction, findJobs(row.handler).list, id, now);
    // the task is stored for as long as its dead letter can be sent again
    await setTimer(transaction, FORGET, task, now + HOUR);
    return dead;
  }
  const waiting = { ...failed, state: "waiting", at: now + pause } as const;
  await storeDelivery(transaction, waiting);
  await setTimer(transaction, findJobs(row.handler).deliver, id, waiting.at);
  return waiting;
}

const COLUMNS = "id, task, handler, state, attempts, run, at, status, cause, ended";

async function readDelivery({ key, query }: Reader, id: string): Promise<Delivery | undefined> {
  const [row] = await query<Delivery>(`SELECT ${COLUMNS} FROM video_ends WHERE key = ? AND id = ?`, key, id);
  return row;
}

/** Reads the work after the ends of a task: a few rows for each handler. */
async function readDeliveries(
  { key, query }: Reader,
  task: string,
): Promise<readonly Pick<Delivery, "id" | "state" | "at" | "handler">[]> {
  return await query("SELECT id, state, at, handler FROM video_ends WHERE key = ? AND task = ?", key, task);
}

async function storeDelivery({ key, query }: Transaction, row: Delivery): Promise<void> {
  const { id, state, attempts, run, at, status, cause, ended } = row;
  await query(
    `UPDATE video_ends SET state = ?, attempts = ?, run = ?, at = ?, status = ?, cause = ?, ended = ?
      WHERE key = ? AND id = ?`,
    ...[state, attempts, run, at, status, cause, ended, key, id],
  );
}

/** Returns the time until which deliveries need their task: a dead letter can be sent again. */
async function readNeeds(transaction: Transaction, task: string): Promise<number> {
  const times = (await readDeliveries(transaction, task)).map(({ state, at }) => {
    if (state === "dead") return at + DEAD_LETTER_RETENTION_MS;
    return state === "done" ? 0 : transaction.now + HOUR;
  });
  return Math.max(0, ...times);
}

async function removeDeliveries({ key, query }: Transaction, task: string): Promise<void> {
  await query("DELETE FROM video_ends WHERE key = ? AND task = ?", key, task);
}

export const DELIVERY_ROWS: EndRows = {
  add: addDeliveries,
  cancel: cancelDeliveries,
  readNeeds,
  remove: removeDeliveries,
};

export const DELIVERY_OPERATIONS = [beginDelivery, endDelivery, resendDelivery, findDelivery];
