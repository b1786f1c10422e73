import type { Transaction } from "@sluice/worker-proxy/plugin";
import { operation } from "../host/define.js";
import { isOpen, type JobDetails, type Payment, parseJSON, SETTLE_MS, TEND_MS } from "./states.js";
import type { Owner, StoreContext, TendInput } from "./store.js";
import { type JobRow, ONE, PARTS } from "./table.js";

/** A job whose owner did not renew its lease. */
export interface LostJob {
  readonly details: JobDetails;
  readonly payment: Payment;
  /** False if the request was never sent: nothing was spent, and the id is free. */
  readonly wasSent: boolean;
}

/** A reservation that is not settled yet. */
export interface Unsettled extends Owner {
  readonly ticket: string;
  /** The amount to spend; undefined for the whole reservation. */
  readonly spent: number | undefined;
}

/** The result of a check. */
export interface Tended {
  /** Present if the job was open, and was settled as lost just now. */
  readonly lost?: LostJob | undefined;
  readonly unsettled?: Unsettled | undefined;
}

/** The rest of a key's jobs after an erasure. */
export interface Erased {
  /** Ids of jobs that still run. They were told to stop. */
  readonly open: readonly string[];
  /** Ids of jobs whose rows stay until their reservations are settled. */
  readonly unsettled: readonly string[];
  /** True if more jobs may be left. */
  readonly hasMore: boolean;
}

/** Time after the expiry of a job for which a failed settlement is retried, in milliseconds. */
const UNSETTLED_MS = 3_600_000;
/** Maximum number of ended jobs that an operation erases. */
const ERASE_JOBS = 100;

/**
 * Creates the operation that checks one job. It settles a job whose lease has ended, deletes an expired job, and
 * returns an unsettled reservation. It schedules the next check unless it deletes the job. `by` is a random id of the
 * check: a repeated transaction finds by it what the first one has settled.
 */
export function createTend(context: StoreContext) {
  const { kind } = context;
  return operation(
    `${kind}.tend`,
    async (tx: Transaction, { id, by }: TendInput & { readonly by: string }): Promise<Tended> => {
      const [row] = await tx.query<JobRow>(
        `SELECT owner, state, details, ticket, payment, is_settled, alive_until, expires_at FROM jobs WHERE ${ONE}`,
        ...[tx.key, kind, id],
      );
      if (!row) return {};
      if (isOpen(row.state)) {
        if (row.alive_until > tx.now) return await lookLater(tx, context, id, {});
        return await settleLost(tx, context, id, by, row);
      }
      // a retry after a commit whose response was lost
      const lost = row.owner === by ? readLost(row, row.state === "lost") : undefined;
      const endsAt = row.expires_at ?? tx.now;
      if (row.is_settled !== 1 && row.ticket !== null && tx.now < endsAt + UNSETTLED_MS)
        return await lookLater(
          tx,
          context,
          id,
          { lost, unsettled: readUnsettled(id, row) },
          tx.now + SETTLE_MS,
        );
      if (endsAt > tx.now) return await lookLater(tx, context, id, { lost }, endsAt);
      await deleteJob(tx, context, id);
      return { lost };
    },
  );
}

/** Creates the operation that marks a reservation as settled. It deletes the job if the job has expired. */
export function createSettled(context: StoreContext) {
  const { kind, tendJob } = context;
  return operation(`${kind}.settled`, async (tx: Transaction, { id, owner }: Owner) => {
    const [row] = await tx.query<Pick<JobRow, "expires_at">>(
      `UPDATE jobs SET is_settled = 1, ticket = NULL WHERE ${ONE} AND owner = ? RETURNING expires_at`,
      ...[tx.key, kind, id, owner],
    );
    const endsAt = row?.expires_at ?? Number.POSITIVE_INFINITY;
    if (endsAt <= tx.now) await deleteJob(tx, context, id);
    else if (row?.expires_at) await tx.schedule(tendJob, { id, at: row.expires_at, input: { id } });
    return null;
  });
}

/** Creates the operation that deletes the ended jobs of a key, and stops its running jobs. */
export function createErase(context: StoreContext) {
  const { kind } = context;
  return operation(`${kind}.erase`, async (tx: Transaction): Promise<Erased> => {
    const [open, empty, ended] = await Promise.all([
      tx.query<{ id: string }>(
        `UPDATE jobs SET stop = 'erased' WHERE key = ? AND kind = ? AND expires_at IS NULL RETURNING id`,
        ...[tx.key, kind],
      ),
      tx.query<{ id: string }>(
        `SELECT id FROM jobs WHERE key = ? AND kind = ? AND expires_at IS NOT NULL AND details = '{}' LIMIT ?`,
        ...[tx.key, kind, ERASE_JOBS],
      ),
      tx.query<JobRow>(
        `SELECT id, ticket, is_settled FROM jobs WHERE key = ? AND kind = ? AND expires_at IS NOT NULL
          AND details <> '{}' LIMIT ?`,
        ...[tx.key, kind, ERASE_JOBS],
      ),
    ]);
    if (open.length > 0) tx.publish();
    const isSettled = ({ is_settled, ticket }: JobRow) => is_settled === 1 || ticket === null;
    await Promise.all(
      ended.map((row) => (isSettled(row) ? deleteJob(tx, context, row.id) : emptyJob(tx, context, row.id))),
    );
    return {
      open: open.map(({ id }) => id),
      unsettled: [...empty, ...ended.filter((row) => !isSettled(row))].map(({ id }) => id),
      hasMore: ended.length === ERASE_JOBS,
    };
  });
}

async function settleLost(
  tx: Transaction,
  context: StoreContext,
  id: string,
  by: string,
  row: JobRow,
): Promise<Tended> {
  const { kind, retentionMs } = context;
  const wasSent = row.state === "sending";
  const lost = readLost(row, wasSent);
  tx.publish();
  if (!wasSent && row.is_settled === 1) {
    await deleteJob(tx, context, id);
    return { lost };
  }
  const expiresAt = wasSent ? tx.now + retentionMs : tx.now;
  await tx.query(
    `UPDATE jobs SET state = ?, owner = ?, payment = ?, code = ?, expires_at = ? WHERE ${ONE}`,
    ...[wasSent ? "lost" : "refused", by, JSON.stringify(lost.payment), context.lostCode, expiresAt],
    ...[tx.key, kind, id],
  );
  const { ticket, is_settled } = row;
  const unsettled =
    is_settled === 1 || ticket === null ? undefined : readUnsettled(id, { ...row, owner: by });
  const known = { lost, unsettled: unsettled && { ...unsettled, spent: wasSent ? undefined : 0 } };
  return await lookLater(tx, context, id, known, tx.now + SETTLE_MS);
}

function readLost({ details, payment }: JobRow, wasSent: boolean): LostJob {
  const { reserved } = parseJSON<Payment>(payment) ?? {};
  const spent = wasSent ? reserved : 0;
  return { details: JSON.parse(details) as JobDetails, payment: { reserved, spent }, wasSent };
}

function readUnsettled(id: string, { owner, ticket, payment }: JobRow): Unsettled {
  return { id, owner, ticket: ticket ?? "", spent: parseJSON<Payment>(payment)?.spent };
}

async function lookLater(
  tx: Transaction,
  { tendJob }: StoreContext,
  id: string,
  tended: Tended,
  at = tx.now + TEND_MS,
): Promise<Tended> {
  await tx.schedule(tendJob, { id, at, input: { id } });
  return tended;
}

async function deleteJob(tx: Transaction, { kind, tendJob }: StoreContext, id: string): Promise<void> {
  await Promise.all([
    tx.query(`DELETE FROM jobs WHERE ${ONE}`, tx.key, kind, id),
    tx.query(`DELETE FROM job_parts WHERE ${PARTS}`, tx.key, kind, id),
    tx.cancel(tendJob as never, id),
  ]);
}

/** Deletes the user's data in a job. The row stays until its reservation is settled. */
async function emptyJob(tx: Transaction, { kind, tendJob }: StoreContext, id: string): Promise<void> {
  await Promise.all([
    tx.query(
      `UPDATE jobs SET details = '{}', head = NULL, text = NULL, text_id = 0, fingerprint = '', is_whole = 0, expires_at = ? WHERE ${ONE}`,
      ...[tx.now, tx.key, kind, id],
    ),
    tx.query(`DELETE FROM job_parts WHERE ${PARTS}`, tx.key, kind, id),
    tx.schedule(tendJob, { id, at: tx.now + SETTLE_MS, input: { id } }),
  ]);
}
