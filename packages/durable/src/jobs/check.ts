import { operation, type Transaction } from "@sluice/worker-proxy/plugin";
import type { JobsContext, KeyContext } from "./options.js";
import { logJob, reportJob } from "./report.js";
import { CHECK_MS, isOpen, type JobDetails, type Payment, parseJSON, SETTLE_MS } from "./states.js";
import type { JobId, Owner, StoreContext } from "./store.js";
import { type JobRow, ONE, PARTS } from "./table.js";

/** A job in the form that its event needs. */
interface JobToReport {
  readonly details: JobDetails;
  readonly payment: Payment;
}

/** A job whose owner did not renew its lease. */
interface LostJob extends JobToReport {
  /** False if the request was never sent: nothing was spent, and the id is free. */
  readonly wasSent: boolean;
}

/** A reservation that is not settled yet. `payment.spent` is the amount to spend; undefined for the whole reservation. */
interface Unsettled extends Owner, JobToReport {
  readonly ticket: string;
  /** True for the last attempt to settle it. */
  readonly isLast: boolean;
}

/** The result of a check. */
export interface Checked {
  /** Present if this check found that the job is lost. */
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
/** Maximum pause between two attempts to settle, in milliseconds. */
const MAX_SETTLE_MS = 3_600_000;
/** Maximum number of ended jobs that an operation erases. */
const ERASE_JOBS = 100;

/**
 * Checks one job. It settles and reports a job whose owner has ended, deletes an expired job, and retries a failed
 * settlement. Concurrent calls report a lost job once. After the last attempt an event reports the reservation.
 *
 * @throws the error of the meter; the next check tries again
 */
export async function checkJob(jobs: JobsContext, { host, key, env }: KeyContext, id: string): Promise<void> {
  const { store, lostCode, getServer } = jobs;
  const { lost, unsettled } = await host.run(key, store.check, { id, by: crypto.randomUUID() });
  if (lost) {
    const { details, payment, wasSent } = lost;
    const how = wasSent
      ? "what was reserved for it is spent"
      : "it was not sent; what was reserved for it is given back";
    await logJob(jobs, `${details.eventId} was lost with its process; ${how}`, "", env);
    reportJob(jobs, details, { outcome: "lost", code: lostCode, ...payment }, env);
  }
  if (!unsettled) return;
  const { ticket, owner, payment, details, isLast } = unsettled;
  try {
    const { meter } = getServer();
    if (!meter?.settleTicket) throw new Error("no plugin has settleTicket");
    await meter.settleTicket(ticket, payment.spent, env);
  } catch (error) {
    if (!isLast) throw error;
    await logJob(jobs, `${details.eventId}: its reservation was not settled in time`, error, env);
    const end = { outcome: "dropped", code: "reservation_unsettled", reserved: payment.reserved } as const;
    reportJob(jobs, details, end, env);
  }
  await host.run(key, store.settled, { id, owner });
}

/**
 * Creates the operation that checks one job. It settles a job whose lease has ended, deletes an expired job, and
 * returns an unsettled reservation. It schedules the next check unless it deletes the job. `by` is a random id of the
 * check: a repeated transaction finds by it what the first one has settled.
 */
export function createCheck(context: StoreContext) {
  const { kind, checkJob } = context;
  return operation(
    `${kind}.check`,
    async (tx: Transaction, { id, by }: JobId & { readonly by: string }): Promise<Checked> => {
      const [found] = await tx.query<JobRow>(
        `SELECT owner, state, details, ticket, payment, alive_until, expires_at FROM jobs WHERE ${ONE}`,
        ...[tx.key, kind, id],
      );
      if (!found) return {};
      const later = (at: number) => tx.schedule(checkJob, { id, at, input: { id } });
      if (isOpen(found.state) && found.alive_until > tx.now) {
        await later(tx.now + CHECK_MS);
        return {};
      }
      const row = isOpen(found.state) ? await settleLost(tx, context, id, by, found) : found;
      const { owner, ticket } = row;
      const reported = readJob(id, row);
      // `by` also owns the job if this transaction repeats one whose commit was not confirmed
      const lost = owner === by ? { ...reported, wasSent: row.state === "lost" } : undefined;
      const endsAt = row.expires_at ?? tx.now;
      if (ticket !== null) {
        // a pause is as long as the time since the end of the lease, so that each is twice the previous one
        const pauseMs = Math.max(SETTLE_MS, Math.min(tx.now - row.alive_until, MAX_SETTLE_MS));
        const deadline = endsAt + UNSETTLED_MS;
        const isLast = tx.now >= deadline;
        await later(isLast ? tx.now + SETTLE_MS : Math.min(tx.now + pauseMs, deadline));
        return { lost, unsettled: { id, owner, ticket, isLast, ...reported } };
      }
      if (endsAt > tx.now) await later(endsAt);
      else await deleteJob(tx, context, id);
      return { lost };
    },
  );
}

/** Creates the operation that marks a reservation as settled. It deletes the job if the job has expired. */
export function createSettled(context: StoreContext) {
  const { kind, checkJob } = context;
  return operation(`${kind}.settled`, async (tx: Transaction, { id, owner }: Owner) => {
    const [row] = await tx.query<Pick<JobRow, "expires_at">>(
      `UPDATE jobs SET ticket = NULL WHERE ${ONE} AND owner = ? RETURNING expires_at`,
      ...[tx.key, kind, id, owner],
    );
    const endsAt = row?.expires_at ?? Number.POSITIVE_INFINITY;
    if (endsAt <= tx.now) await deleteJob(tx, context, id);
    else if (row?.expires_at) await tx.schedule(checkJob, { id, at: row.expires_at, input: { id } });
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
        `SELECT id, ticket FROM jobs WHERE key = ? AND kind = ? AND expires_at IS NOT NULL
          AND details <> '{}' LIMIT ?`,
        ...[tx.key, kind, ERASE_JOBS],
      ),
    ]);
    if (open.length > 0) tx.publish();
    await Promise.all(
      ended.map(({ id, ticket }) => (ticket === null ? deleteJob : emptyJob)(tx, context, id)),
    );
    return {
      open: open.map(({ id }) => id),
      unsettled: [...empty, ...ended.filter(({ ticket }) => ticket !== null)].map(({ id }) => id),
      hasMore: ended.length === ERASE_JOBS,
    };
  });
}

/** Ends a lost job. Its id is free if it was not sent. */
async function settleLost(
  tx: Transaction,
  { kind, retentionMs, lostCode }: StoreContext,
  id: string,
  owner: string,
  row: JobRow,
): Promise<JobRow> {
  const wasSent = row.state === "sending";
  const { reserved } = parseJSON<Payment>(row.payment) ?? {};
  const payment = JSON.stringify({ reserved, spent: wasSent ? reserved : 0 } satisfies Payment);
  const state = wasSent ? "lost" : "refused";
  const expires_at = wasSent ? tx.now + retentionMs : tx.now;
  await tx.query(
    `UPDATE jobs SET state = ?, owner = ?, payment = ?, code = ?, expires_at = ? WHERE ${ONE}`,
    ...[state, owner, payment, lostCode, expires_at, tx.key, kind, id],
  );
  tx.publish();
  return { ...row, state, owner, payment, expires_at };
}

/** Reads a job for its event. After an erasure only its id is left. */
function readJob(id: string, { details, payment }: JobRow): JobToReport {
  const known = { eventId: id, startedAt: Date.now(), ...(JSON.parse(details) as Partial<JobDetails>) };
  return { details: known as JobDetails, payment: parseJSON<Payment>(payment) ?? {} };
}

async function deleteJob(tx: Transaction, { kind, checkJob }: StoreContext, id: string): Promise<void> {
  await Promise.all([
    tx.query(`DELETE FROM jobs WHERE ${ONE}`, tx.key, kind, id),
    tx.query(`DELETE FROM job_parts WHERE ${PARTS}`, tx.key, kind, id),
    tx.cancel(checkJob, id),
  ]);
}

/** Deletes the user's data in a job. The row stays until its reservation is settled. */
async function emptyJob(tx: Transaction, { kind, checkJob }: StoreContext, id: string): Promise<void> {
  await Promise.all([
    tx.query(
      `UPDATE jobs SET details = '{}', head = NULL, text = NULL, text_id = 0, fingerprint = '', is_whole = 0, expires_at = ? WHERE ${ONE}`,
      ...[tx.now, tx.key, kind, id],
    ),
    tx.query(`DELETE FROM job_parts WHERE ${PARTS}`, tx.key, kind, id),
    tx.schedule(checkJob, { id, at: tx.now + SETTLE_MS, input: { id } }),
  ]);
}
