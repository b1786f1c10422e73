import { type Job, operation, type StoredPart, type Transaction } from "@sluice/worker-proxy/plugin";
import { checkReservation, type Reserving } from "../budgets/operations.js";
import type { Plan } from "../budgets/reservations.js";
import { type Lost, settleReservation } from "../budgets/tables.js";
import { createCheck, createErase, createSettled } from "./check.js";
import type { JobsOptions } from "./options.js";
import { createReadings } from "./readings.js";
import {
  ALIVE_MS,
  ATTEND_MS,
  CHECK_MS,
  isOpen,
  type JobDetails,
  type JobState,
  type Payment,
  parseJSON,
  SETTLE_MS,
  type StopReason,
} from "./states.js";
import { type JobRow, MINE, ONE, PARTS, type PartRow } from "./table.js";

/** Identifies a job of a key. */
export type JobId = { readonly id: string };

/** The options of a plugin, and the job that checks its rows. */
export interface StoreContext extends JobsOptions {
  readonly checkJob: Job<JobId>;
}

/** The operations on the jobs of one plugin: one row for each job. */
export type JobStore = ReturnType<typeof createJobStore>;

/** The owner of a job. */
export type Owner = JobId & { readonly owner: string };

/** A request that claims an id for itself. */
export type Claim = Owner & {
  /** Digest of the request. */
  readonly fingerprint: string;
  readonly details: JobDetails;
  /** Maximum number of open jobs of the key; null for any number. */
  readonly maxOpen: number | null;
  /** The state of the new job: `sending` if the claim reserves everything. */
  readonly state: "claimed" | "sending";
  /** The planned reservation, whose `own` limits the claim reserves; null without one. */
  readonly plan: Plan | null;
  readonly ticket: string | null;
};

/** The result of a claim. */
export interface Claimed {
  /**
   * - `claimed`: the caller may send the request.
   * - `known`: a job with the same fingerprint has the id.
   * - `different`: a job with another fingerprint has the id.
   * - `stale`: the id belongs to a job that is lost or expired. Check the job, and claim again.
   * - `full`: too many jobs of the key are open.
   * - `crowded`: too many jobs of the key are stored.
   * - `exhausted`: the user's budget has too little left.
   */
  readonly result: "claimed" | "known" | "different" | "stale" | "full" | "crowded" | "exhausted";
  /** The result of the reservation, if the budget was checked. */
  readonly reserving?: Pick<Reserving, "refused" | "retryAfterMs">;
  readonly lost?: Lost;
}

/** The ticket of a reservation. */
type Ticket = Owner & {
  readonly state: "claimed" | "sending";
  readonly ticket: string | null;
  readonly payment: Payment;
};

/** The state of a job for its owner. */
export interface Owned {
  /** False once another process has settled the job. Then the owner must stop. */
  readonly isOwned: boolean;
  readonly stop: StopReason | null;
  /** Milliseconds for which the owner must store events early, for readers in other processes. */
  readonly readMs: number;
}

/** Further parts of a response. */
export type Append = Owner & {
  /** The whole response so far; null if it is large or unchanged. */
  readonly text: string | null;
  readonly parts: readonly PartRow[];
  readonly lastId: number;
  readonly isWhole: boolean;
  readonly head: string | null;
};

/** The settlement of the reservation that the claim made; null if the claim reserved nothing. */
export type Settlement = { readonly id: string; readonly spent: number } | null;

/** The end of a job, with the last parts of its response. */
export type End = Append & {
  readonly state: Exclude<JobState, "claimed" | "sending" | "refused">;
  readonly code: string | null;
  readonly payment: Payment;
  readonly settlement: Settlement;
  /** True if the meter has settled its reservation, or has none. */
  readonly isSettled: boolean;
};

/** The end of a job that cost nothing. */
export type Free = Owner & { readonly settlement: Settlement; readonly isSettled: boolean };

/** Maximum number of older responses that an operation drops. */
const MAX_DROPPED = 10;
/** Sets the columns of a response. */
const RESPONSE = `text = COALESCE(?, text), text_id = COALESCE(?, text_id), last_id = ?, is_whole = ?,
  head = COALESCE(?, head)`;

/** Creates the operations on the jobs of a plugin. */
export function createJobStore(context: StoreContext) {
  const { kind } = context;
  const readings = createReadings(kind);
  const operations = {
    claim: operation(`${kind}.claim`, (tx: Transaction, input: Claim) => claim(tx, input, context)),
    /** Stores a ticket before the meter reserves, and again with the state `sending` before the request is sent. */
    storeTicket: operation(
      `${kind}.storeTicket`,
      async (tx: Transaction, { id, owner, state, ticket, payment }: Ticket): Promise<Owned> => {
        const [row] = await tx.query<OwnedRow>(
          `UPDATE jobs SET state = ?, ticket = ?, payment = ?, alive_until = ? WHERE ${MINE}
            RETURNING stop, read_until`,
          ...[state, ticket, JSON.stringify(payment), tx.now + ALIVE_MS],
          ...[tx.key, kind, id, owner],
        );
        return describeOwned(row, tx.now);
      },
    ),
    /** Stores further parts of a response, and renews the lease of its owner. */
    append: operation(`${kind}.append`, async (tx: Transaction, input: Append): Promise<Owned> => {
      const [row] = await tx.query<OwnedRow>(
        `UPDATE jobs SET ${RESPONSE}, alive_until = ? WHERE ${MINE} RETURNING stop, read_until`,
        ...[...responseValues(input), tx.now + ALIVE_MS, tx.key, kind, input.id, input.owner],
      );
      if (!row) return describeOwned(row, tx.now);
      await insertParts(tx, kind, input);
      // readers in the owner's process read from memory
      if (row.read_until > tx.now) tx.publish();
      return describeOwned(row, tx.now);
    }),
    end: operation(`${kind}.end`, (tx: Transaction, input: End) => end(tx, input, context)),
    free: operation(`${kind}.free`, (tx: Transaction, input: Free) => free(tx, input, context)),
    stop: operation(`${kind}.stop`, async (tx: Transaction, input: JobId & { reason: StopReason }) => {
      const { id, reason } = input;
      const [row] = await tx.query<JobRow>(
        `SELECT state, expires_at FROM jobs WHERE ${ONE}`,
        ...[tx.key, kind, id],
      );
      if (!row || (row.expires_at !== null && row.expires_at <= tx.now)) return false;
      if (!isOpen(row.state)) return true;
      await tx.query(`UPDATE jobs SET stop = COALESCE(stop, ?) WHERE ${ONE}`, reason, tx.key, kind, id);
      tx.publish();
      return true;
    }),
    /** Stores that a reader in another process waits for rows. Returns whether the job is open, lost or ended. */
    attend: operation(`${kind}.attend`, async (tx: Transaction, { id }: JobId): Promise<Attended> => {
      const [row] = await tx.query<JobRow>(
        `SELECT state, alive_until, read_until FROM jobs WHERE ${ONE}`,
        ...[tx.key, kind, id],
      );
      if (!row || !isOpen(row.state)) return "ended";
      if (row.alive_until <= tx.now) return "lost";
      const until = tx.now + ATTEND_MS;
      await tx.query(`UPDATE jobs SET read_until = ? WHERE ${ONE}`, until, tx.key, kind, id);
      // the owner learns of the first reader at once
      if (row.read_until <= tx.now) tx.publish();
      return "open";
    }),
    check: createCheck(context),
    settled: createSettled(context),
    erase: createErase(context),
  };
  return {
    kind,
    ...readings,
    ...operations,
    operations: [...Object.values(readings), ...Object.values(operations)] as StoredPart["operations"],
  };
}

/** Lets one of several requests with the same id send it, and reserves its cost in the user's key. */
async function claim(
  tx: Transaction,
  input: Claim,
  { kind, maxJobs, checkJob }: StoreContext,
): Promise<Claimed> {
  const { id, owner, fingerprint, details, maxOpen, state, plan, ticket } = input;
  const openSQL = `SELECT id FROM jobs WHERE key = ? AND kind = ? AND expires_at IS NULL AND alive_until > ? LIMIT ?`;
  const storedBeyondSQL = "SELECT id FROM jobs WHERE key = ? AND kind = ? ORDER BY id LIMIT 1 OFFSET ?";
  const [[row], open, stored, reservation] = await Promise.all([
    tx.query<JobRow>(
      `SELECT owner, fingerprint, state, alive_until, expires_at FROM jobs WHERE ${ONE}`,
      ...[tx.key, kind, id],
    ),
    maxOpen === null ? [] : tx.query(openSQL, tx.key, kind, tx.now, maxOpen),
    maxJobs === undefined ? [] : tx.query(storedBeyondSQL, tx.key, kind, maxJobs - 1),
    plan?.own && checkReservation(tx, { ...plan, limits: plan.own.limits }),
  ]);
  const { store, lost, ...reserving } = reservation ?? {};
  const read = { ...(lost && { lost }), ...(reservation && { reserving: reserving as Reserving }) };
  if (row) return { result: compareClaim(row, input, tx.now), ...read };
  if (maxOpen !== null && open.length >= maxOpen) return { result: "full", ...read };
  if (stored.length > 0) return { result: "crowded", ...read };
  if (reservation?.refused !== undefined) return { result: "exhausted", ...read };
  const payment = plan && { reserved: plan.amount, ...(state === "claimed" && { spent: 0 }) };
  await Promise.all([
    tx.query(
      `INSERT INTO jobs (key, kind, id, owner, fingerprint, state, details, ticket, payment, text_id, last_id,
        is_whole, alive_until, read_until) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 1, ?, 0)`,
      ...[tx.key, kind, id, owner, fingerprint, state, JSON.stringify(details), ticket],
      ...[payment && JSON.stringify(payment), tx.now + ALIVE_MS],
    ),
    store?.(),
    tx.schedule(checkJob, { id, at: tx.now + CHECK_MS, input: { id } }),
  ]);
  return { result: "claimed", ...read };
}

function compareClaim(row: JobRow, { owner, fingerprint }: Claim, now: number): Claimed["result"] {
  // a retry after a commit whose response was lost
  if (row.owner === owner) return "claimed";
  const endsAt = isOpen(row.state) ? row.alive_until : row.expires_at;
  if (endsAt !== null && endsAt <= now) return "stale";
  return row.fingerprint === fingerprint ? "known" : "different";
}

/** Ends a job. `isEnded` is false if another process has settled the job before. */
async function end(tx: Transaction, input: End, context: StoreContext) {
  const { kind, retentionMs, maxStored, maxLarge, checkJob } = context;
  const { id, owner, state, code, payment, isSettled, settlement, parts } = input;
  const [[row], old] = await Promise.all([
    tx.query<JobRow>(`SELECT owner, state, read_until FROM jobs WHERE ${ONE}`, ...[tx.key, kind, id]),
    maxStored === undefined
      ? []
      : tx.query<{ id: string }>(
          `SELECT id FROM jobs WHERE key = ? AND kind = ? AND expires_at > ? ORDER BY expires_at DESC LIMIT ? OFFSET ?`,
          ...[tx.key, kind, tx.now, MAX_DROPPED, maxStored - 1],
        ),
    settlement && settleReservation(tx, settlement.id, settlement.spent),
  ]);
  const isMine = row?.owner === owner;
  // a retry after a commit whose response was lost
  if (!row || !isMine || !isOpen(row.state)) return { isEnded: isMine && row?.state === state, dropped: [] };
  const expiresAt = tx.now + retentionMs;
  const settled = isSettled ? "ticket = NULL, " : "";
  await Promise.all([
    tx.query(
      `UPDATE jobs SET state = ?, code = ?, payment = ?, ${settled}${RESPONSE}, expires_at = ? WHERE ${MINE}`,
      ...[state, code, JSON.stringify(payment), ...responseValues(input)],
      ...[expiresAt, tx.key, kind, id, owner],
    ),
    insertParts(tx, kind, input),
    tx.schedule(checkJob, { id, at: isSettled ? expiresAt : tx.now + SETTLE_MS, input: { id } }),
    // current readers can read a dropped response until its timer runs
    ...old.flatMap((dropped) => [
      tx.query(`UPDATE jobs SET expires_at = ? WHERE ${ONE}`, tx.now, tx.key, kind, dropped.id),
      tx.schedule(checkJob, { id: dropped.id, at: tx.now + SETTLE_MS, input: { id: dropped.id } }),
    ]),
  ]);
  if (maxLarge !== undefined && parts.length > 0) await dropLarge(tx, kind, maxLarge);
  if (row.read_until > tx.now) tx.publish();
  return { isEnded: true, dropped: old.map(({ id }) => id) };
}

/** Deletes the oldest large responses of a key. Their jobs stay, because their requests must not be sent again. */
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

/** Frees the id of a job that cost nothing. Its row stays until its reservation is released. */
async function free(tx: Transaction, input: Free, { kind, checkJob }: StoreContext): Promise<boolean> {
  const { id, owner, isSettled, settlement } = input;
  const [[row]] = await Promise.all([
    tx.query<JobRow>(`SELECT owner, payment, read_until FROM jobs WHERE ${ONE}`, tx.key, kind, id),
    settlement && settleReservation(tx, settlement.id, settlement.spent),
  ]);
  // a retry after a commit whose response was lost
  if (!row) return true;
  if (row.owner !== owner) return false;
  if (row.read_until > tx.now) tx.publish();
  if (isSettled) {
    await Promise.all([tx.query(`DELETE FROM jobs WHERE ${ONE}`, tx.key, kind, id), tx.cancel(checkJob, id)]);
    return true;
  }
  const payment = { ...parseJSON<Payment>(row.payment), spent: 0 };
  await Promise.all([
    tx.query(
      `UPDATE jobs SET state = 'refused', payment = ?, expires_at = ? WHERE ${ONE}`,
      ...[JSON.stringify(payment), tx.now, tx.key, kind, id],
    ),
    tx.schedule(checkJob, { id, at: tx.now + SETTLE_MS, input: { id } }),
  ]);
  return true;
}

function responseValues({ text, lastId, isWhole, head }: Append): readonly (string | number | null)[] {
  return [text, text === null ? null : lastId, lastId, Number(isWhole), head];
}

/** Inserts parts of a response. It is safe to repeat: a part with the same id has the same text. */
async function insertParts(tx: Transaction, kind: string, { id, parts }: Append): Promise<void> {
  const insert =
    "INSERT INTO job_parts (key, kind, job, last_id, text) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
  await Promise.all(parts.map(({ last_id, text }) => tx.query(insert, tx.key, kind, id, last_id, text)));
}

/** The state of a job for a reader in another process. */
type Attended = "open" | "lost" | "ended";

type OwnedRow = Pick<JobRow, "stop" | "read_until">;

function describeOwned(row: OwnedRow | undefined, now: number): Owned {
  if (!row) return { isOwned: false, stop: null, readMs: 0 };
  return { isOwned: true, stop: row.stop, readMs: Math.max(0, row.read_until - now) };
}
