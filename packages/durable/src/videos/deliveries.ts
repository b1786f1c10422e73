import { operation, type Reader, reading, type Transaction } from "@sluice/worker-proxy/plugin";
import { declareJob } from "../host/define.js";
import type { EndedTask } from "./ends.js";
import { readWatch } from "./rows.js";
import type { RowId } from "./watches.js";

/** Table of deliveries: one row per end and handler until the handler succeeds. `key` is the user's key. */
export const DELIVERY_TABLES = [
  `CREATE TABLE IF NOT EXISTS video_ends (key TEXT NOT NULL, id TEXT NOT NULL, task TEXT NOT NULL,
    handler TEXT NOT NULL, attempts BIGINT NOT NULL, ended TEXT NOT NULL, failure TEXT, PRIMARY KEY (key, id))`,
  "CREATE INDEX IF NOT EXISTS video_ends_task ON video_ends (key, task)",
];

/** Runs a handler once. The row counts the attempts of the handler. */
export const DELIVER = declareJob<RowId>("videos.deliver");

/** Delivery of one end to one handler. */
export type Delivery = {
  /** `<end id>:<handler>`. */
  readonly id: string;
  readonly handler: string;
  /** Number of finished attempts. */
  readonly attempts: number;
  readonly ended: EndedTask;
  /** Failure of the last attempt. Set when no attempts remain. */
  readonly failure: LastFailure | undefined;
};

export type LastFailure = {
  readonly cause: string;
  readonly upstreamStatus?: number | undefined;
  /** Unix milliseconds. */
  readonly at: number;
};

/** The result of one attempt of a handler. */
export type AttemptResult = {
  /** Why the attempt failed. Absent if the handler succeeded. */
  readonly failure?: string;
  /** HTTP status of the receiver. */
  readonly upstreamStatus?: number | undefined;
};

/** A delivery after an attempt: the time of the next attempt, or the last failure. Null if the delivery was deleted. */
export type DeliveryEnd = {
  readonly attempts: number;
  readonly nextAt?: number | undefined;
  readonly failure?: LastFailure | undefined;
} | null;

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Pauses between two attempts, in milliseconds. */
const PAUSES_MS = [5_000, MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 5 * HOUR, 10 * HOUR, 14 * HOUR];
export const MAX_ATTEMPTS = PAUSES_MS.length + 1;
/** Time for which a dead letter is stored, in milliseconds. */
export const DEAD_LETTER_MS = 7 * 24 * HOUR;
const MAX_CAUSE_CHARACTERS = 500;
/** HTTP status of a receiver that wants no more attempts. */
const GONE = 410;

type Row = Omit<Delivery, "ended" | "failure"> & {
  readonly task: string;
  readonly ended: string;
  readonly failure: string | null;
};

export const findDelivery = reading("videos.findDelivery", async (reader, { id }: RowId) => {
  const row = await readRow(reader, id);
  if (!row) return null;
  // the user may have removed the task after its end was stored
  const { isRemoved = false } = (await readWatch(reader, row.task)) ?? {};
  const ended: EndedTask = { ...JSON.parse(row.ended), isRemoved };
  const { handler, attempts } = row;
  return { id, handler, attempts, ended, failure: parseFailure(row) } satisfies Delivery;
});

/**
 * Stores the result of an attempt: deletes the row after a success, or schedules the next attempt.
 *
 * @param attempts number of earlier attempts
 */
export const endDelivery = operation(
  "videos.endDelivery",
  async (
    transaction,
    { id, attempts, failure: cause, upstreamStatus }: RowId & AttemptResult & { readonly attempts: number },
  ): Promise<DeliveryEnd> => {
    const { key, now, query } = transaction;
    const row = await readRow(transaction, id);
    if (cause === undefined) {
      await query("DELETE FROM video_ends WHERE key = ? AND id = ?", key, id);
      return { attempts: attempts + 1 };
    }
    if (!row) return null;
    const pause = upstreamStatus === GONE ? undefined : PAUSES_MS[attempts];
    const nextAt = pause === undefined ? undefined : now + pause;
    // the attempt is already counted: by the same input before, or by another process while this process was paused
    if (row.attempts !== attempts) return { attempts: row.attempts, nextAt, failure: parseFailure(row) };
    const text = cause.replaceAll("\0", " ").slice(0, MAX_CAUSE_CHARACTERS);
    const failure = nextAt === undefined ? { cause: text, upstreamStatus, at: now } : undefined;
    await query(
      "UPDATE video_ends SET attempts = ?, failure = ? WHERE key = ? AND id = ?",
      ...[attempts + 1, failure ? JSON.stringify(failure) : null, key, id],
    );
    if (nextAt !== undefined) await transaction.schedule(DELIVER, { id, at: nextAt, input: { id } });
    return { attempts: attempts + 1, nextAt, failure };
  },
);

/** Schedules a dead letter again. Returns false if the delivery was deleted or has succeeded. */
export const resendDelivery = operation("videos.resend", async (transaction, { id }: RowId) => {
  const { key, now, query } = transaction;
  const [row] = await query(
    "UPDATE video_ends SET attempts = 0, failure = NULL WHERE key = ? AND id = ? AND failure IS NOT NULL RETURNING id",
    ...[key, id],
  );
  if (row) await transaction.schedule(DELIVER, { id, at: now, input: { id } });
  return row !== undefined || (await readRow(transaction, id)) !== undefined;
});

/** Adds a delivery of the end for each handler. */
export async function addDeliveries(transaction: Transaction, ended: EndedTask, handlers: readonly string[]) {
  const { key, now, query } = transaction;
  // this end replaces an earlier end: cancel the pending deliveries of the earlier end
  await query("DELETE FROM video_ends WHERE key = ? AND task = ? AND failure IS NULL", key, ended.gatewayId);
  for (const handler of handlers) {
    const id = `${ended.id}:${handler}`;
    await query(
      `INSERT INTO video_ends (key, id, task, handler, attempts, ended) VALUES (?, ?, ?, ?, 0, ?)
        ON CONFLICT (key, id) DO NOTHING`,
      ...[key, id, ended.gatewayId, handler, JSON.stringify(ended)],
    );
    await transaction.schedule(DELIVER, { id, at: now, input: { id } });
  }
}

/** Returns true while a delivery of the task is pending or its dead letter can be resent. */
export async function hasDeliveries({ key, now, query }: Transaction, task: string): Promise<boolean> {
  const rows = await query<{ failure: string | null }>(
    "SELECT failure FROM video_ends WHERE key = ? AND task = ?",
    ...[key, task],
  );
  const failedAt = rows.map((row) => parseFailure(row)?.at ?? now);
  return failedAt.some((at) => now < at + DEAD_LETTER_MS);
}

/** Deletes all deliveries of a task. Returns true if at least one was pending. */
export async function deleteDeliveries({ key, query }: Transaction, task: string): Promise<boolean> {
  const rows = await query<{ failure: string | null }>(
    "DELETE FROM video_ends WHERE key = ? AND task = ? RETURNING failure",
    ...[key, task],
  );
  return rows.some(({ failure }) => failure === null);
}

function parseFailure({ failure }: Pick<Row, "failure">): LastFailure | undefined {
  return failure === null ? undefined : (JSON.parse(failure) as LastFailure);
}

async function readRow({ key, query }: Reader, id: string): Promise<Row | undefined> {
  const [row] = await query<Row>(
    "SELECT id, task, handler, attempts, ended, failure FROM video_ends WHERE key = ? AND id = ?",
    ...[key, id],
  );
  return row;
}

export const DELIVERY_OPERATIONS = [endDelivery, resendDelivery, findDelivery];
