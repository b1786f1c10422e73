import type { Transaction } from "@sluice/worker-proxy";
import { operation } from "../host/define.js";
import { isOpen, type JobDetails, type JobState, type Payment, parseJSON, SETTLE_MS } from "./states.js";
import {
  type Append,
  insertParts,
  type Owner,
  RESPONSE,
  responseValues,
  type StoreContext,
} from "./store.js";
import { type JobRow, MINE, ONE, PARTS } from "./table.js";

/** The end of a job, with the rest of its response. */
export type End = Append & {
  readonly state: Exclude<JobState, "claimed" | "sending" | "refused">;
  readonly code: string | null;
  readonly payment: Payment;
  /** True if nothing is reserved any more. */
  readonly isSettled: boolean;
};

/** The end of a job that cost nothing. */
export type Free = Owner & {
  readonly isSettled: boolean;
  /** True if the job has not begun as far as its request knows. A job that did begin stays. */
  readonly isUnsent?: boolean;
};

/** Number of older responses that make room for one. */
const MAX_DROPPED = 10;

/** Creates the operation that ends a job. It returns false if another one has settled the job before. */
export function createEnd(context: StoreContext) {
  const { kind, retentionMs, isFromStart = false, maxStored, maxLarge, tendJob } = context;
  return operation(`${kind}.end`, async (tx: Transaction, input: End) => {
    const { id, owner, state, code, payment, isSettled, parts } = input;
    const [row] = await tx.query<JobRow>(
      `SELECT owner, state, details FROM jobs WHERE ${ONE}`,
      tx.key,
      kind,
      id,
    );
    const isMine = row?.owner === owner;
    // tried again after a commit whose response was lost
    if (!row || !isMine || !isOpen(row.state))
      return { isEnded: isMine && row?.state === state, dropped: [] };
    const begunAt = parseJSON<JobDetails>(row.details)?.startedAt ?? tx.now;
    const expiresAt = Math.max(tx.now, (isFromStart ? begunAt : tx.now) + retentionMs);
    const [, , , dropped] = await Promise.all([
      tx.query(
        `UPDATE jobs SET state = ?, code = ?, payment = ?, is_settled = ?, ${RESPONSE}, expires_at = ? WHERE ${MINE}`,
        ...[state, code, JSON.stringify(payment), Number(isSettled), ...responseValues(input)],
        ...[expiresAt, tx.key, kind, id, owner],
      ),
      insertParts(tx, kind, id, parts),
      tx.schedule(tendJob, { id, at: isSettled ? expiresAt : tx.now + SETTLE_MS, input: { id } }),
      maxStored === undefined ? [] : dropOldest(tx, context, maxStored),
    ]);
    if (maxLarge !== undefined && parts.length > 0) await dropLarge(tx, kind, maxLarge);
    tx.publish();
    return { isEnded: true, dropped };
  });
}

/** Lets the oldest responses of a key expire. Those who read one now can read it for a while. */
async function dropOldest(
  tx: Transaction,
  { kind, tendJob }: StoreContext,
  maxStored: number,
): Promise<readonly string[]> {
  const old = await tx.query<{ id: string }>(
    `SELECT id FROM jobs WHERE key = ? AND kind = ? AND expires_at > ? ORDER BY expires_at DESC LIMIT ? OFFSET ?`,
    ...[tx.key, kind, tx.now, MAX_DROPPED, maxStored],
  );
  await Promise.all(
    old.flatMap(({ id }) => [
      tx.query(`UPDATE jobs SET expires_at = ? WHERE ${ONE}`, tx.now, tx.key, kind, id),
      tx.schedule(tendJob, { id, at: tx.now + SETTLE_MS, input: { id } }),
    ]),
  );
  return old.map(({ id }) => id);
}

/** Deletes the oldest large responses of a key. Their jobs stay: their requests must not be sent again. */
async function dropLarge(tx: Transaction, kind: string, maxLarge: number): Promise<void> {
  // a small response is in the row of its job
  const old = await tx.query<{ id: string }>(
    `SELECT id FROM jobs WHERE key = ? AND kind = ? AND expires_at IS NOT NULL AND text IS NULL AND last_id > 0
      AND is_whole = 1 ORDER BY expires_at DESC LIMIT ? OFFSET ?`,
    ...[tx.key, kind, MAX_DROPPED, maxLarge],
  );
  await Promise.all(
    old.flatMap(({ id }) => [
      tx.query(`UPDATE jobs SET is_whole = 0 WHERE ${ONE}`, tx.key, kind, id),
      tx.query(`DELETE FROM job_parts WHERE ${PARTS}`, tx.key, kind, id),
    ]),
  );
}

/** Creates the operation that frees the id of a job that cost nothing. Its row stays until its reservation is given back. */
export function createFree({ kind, tendJob }: StoreContext) {
  return operation(`${kind}.free`, async (tx: Transaction, input: Free) => {
    const { id, owner, isSettled, isUnsent = false } = input;
    const [row] = await tx.query<JobRow>(
      `SELECT owner, state, ticket, payment FROM jobs WHERE ${ONE}`,
      ...[tx.key, kind, id],
    );
    // tried again
    if (!row) return true;
    if (row.owner !== owner) return false;
    if (isUnsent && (row.state !== "claimed" || row.ticket !== null)) return false;
    tx.publish();
    if (isSettled) {
      await Promise.all([
        tx.query(`DELETE FROM jobs WHERE ${ONE}`, tx.key, kind, id),
        tx.cancel(tendJob as never, id),
      ]);
      return true;
    }
    const payment = { ...parseJSON<Payment>(row.payment), spent: 0 };
    await Promise.all([
      tx.query(
        `UPDATE jobs SET state = 'refused', payment = ?, is_settled = 0, expires_at = ? WHERE ${ONE}`,
        ...[JSON.stringify(payment), tx.now, tx.key, kind, id],
      ),
      tx.schedule(tendJob, { id, at: tx.now + SETTLE_MS, input: { id } }),
    ]);
    return true;
  });
}
