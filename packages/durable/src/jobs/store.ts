import type { Job, StoredPart, Transaction } from "@sluice/worker-proxy";
import { operation } from "../host/define.js";
import { createClaim } from "./claim.js";
import { createEnd, createFree } from "./end.js";
import { createReadings } from "./readings.js";
import { ALIVE_MS, ATTEND_MS, isOpen, type Payment, type StopReason } from "./states.js";
import { type JobRow, MINE, ONE, type PartRow } from "./table.js";
import { createErase, createSettled, createTend } from "./tending.js";

/** Options of a store of jobs. */
export interface StoreOptions {
  /** The jobs' name: it tells the jobs of one plugin from those of another, and begins the names of the operations. */
  readonly kind: string;
  /** Time for which a response is stored after its end, in milliseconds. */
  readonly retentionMs: number;
  /** True if that time begins with the job. @default with its end */
  readonly isFromStart?: boolean;
  /** Largest number of responses that are stored for a key. @default any */
  readonly maxStored?: number;
  /** Largest number of jobs that are stored for a key: a new one is refused. @default any */
  readonly maxJobs?: number;
  /** Largest number of large responses that are stored for a key. The oldest is deleted, and its job stays. @default any */
  readonly maxLarge?: number;
  /** The code of a job that is lost. */
  readonly lostCode: string;
}

/** The input of a timer that tends a job. */
export type TendInput = {
  readonly id: string;
};

/** Options of a store, and the job that tends its rows. */
export interface StoreContext extends StoreOptions {
  readonly tendJob: Job<TendInput>;
}

/** The operations on the jobs of one plugin: one row for each job. */
export type JobStore = ReturnType<typeof createJobStore>;

/** The owner of a job. */
export type Owner = {
  readonly id: string;
  readonly owner: string;
};

/** A reservation, stored before anything is reserved and again before the request is sent. */
type Ticket = Owner & {
  readonly ticket: string | null;
  readonly payment: Payment;
};

/** The owner's view of its job. */
export interface Owned {
  /** False once another one has settled the job: it must not go on. */
  readonly isOwned: boolean;
  readonly stop: StopReason | null;
  /** Milliseconds for which readers in other processes wait for rows. */
  readonly readMs: number;
}

/** More of a response. */
export type Append = Owner & {
  /** All of the response so far, if that is small; null if it is not or has not changed. */
  readonly text: string | null;
  readonly parts: readonly PartRow[];
  readonly lastId: number;
  readonly isWhole: boolean;
  readonly head: string | null;
};

type Stop = {
  readonly id: string;
  readonly reason: StopReason;
};

/** Creates the operations on the jobs of a plugin. */
export function createJobStore(context: StoreContext) {
  const { kind } = context;
  const readings = createReadings(kind);
  const operations = {
    claim: createClaim(context),
    keepTicket: operation(`${kind}.keepTicket`, async (tx: Transaction, input: Ticket) => {
      const { id, owner, ticket, payment } = input;
      const stored = await tx.query(
        `UPDATE jobs SET ticket = ?, payment = ?, is_settled = 0, alive_until = ? WHERE ${MINE} RETURNING id`,
        ...[ticket, JSON.stringify({ ...payment, spent: 0 }), tx.now + ALIVE_MS, tx.key, kind, id, owner],
      );
      return stored.length > 0;
    }),
    send: operation(`${kind}.send`, async (tx: Transaction, input: Ticket) => {
      const { id, owner, ticket, payment } = input;
      const [row] = await tx.query<Pick<JobRow, "stop" | "read_until">>(
        `UPDATE jobs SET state = 'sending', ticket = ?, payment = ?, is_settled = ?, alive_until = ? WHERE ${MINE}
          RETURNING stop, read_until`,
        ...[ticket, JSON.stringify(payment), ticket === null ? 1 : 0, tx.now + ALIVE_MS],
        ...[tx.key, kind, id, owner],
      );
      return describeOwned(row, tx.now);
    }),
    append: createAppend(kind),
    end: createEnd(context),
    free: createFree(context),
    stop: operation(`${kind}.stop`, async (tx: Transaction, { id, reason }: Stop) => {
      const [row] = await tx.query<Pick<JobRow, "state" | "expires_at">>(
        `SELECT state, expires_at FROM jobs WHERE ${ONE}`,
        ...[tx.key, kind, id],
      );
      if (!row || (row.expires_at !== null && row.expires_at <= tx.now)) return false;
      if (!isOpen(row.state)) return true;
      await tx.query(`UPDATE jobs SET stop = COALESCE(stop, ?) WHERE ${ONE}`, reason, tx.key, kind, id);
      tx.publish();
      return true;
    }),
    attend: createAttend(kind),
    tend: createTend(context),
    settled: createSettled(context),
    erase: createErase(context),
  };
  return {
    options: context as StoreOptions,
    ...readings,
    ...operations,
    operations: [...Object.values(readings), ...Object.values(operations)] as StoredPart["operations"],
  };
}

/** Stores more of a response, and renews the lease of its owner. */
function createAppend(kind: string) {
  return operation(`${kind}.append`, async (tx: Transaction, input: Append): Promise<Owned> => {
    const [row] = await tx.query<Pick<JobRow, "stop" | "read_until">>(
      `UPDATE jobs SET ${RESPONSE}, alive_until = ? WHERE ${MINE} RETURNING stop, read_until`,
      ...[...responseValues(input), tx.now + ALIVE_MS, tx.key, kind, input.id, input.owner],
    );
    if (!row) return describeOwned(row, tx.now);
    await insertParts(tx, kind, input.id, input.parts);
    // readers in the process of the owner read its memory
    if (row.read_until > tx.now) tx.publish();
    return describeOwned(row, tx.now);
  });
}

/** Notes that a reader in another process waits for rows. */
function createAttend(kind: string) {
  return operation(`${kind}.attend`, async (tx: Transaction, { id }: TendInput) => {
    const [row] = await tx.query<Pick<JobRow, "state" | "alive_until" | "read_until">>(
      `SELECT state, alive_until, read_until FROM jobs WHERE ${ONE}`,
      ...[tx.key, kind, id],
    );
    if (!row || !isOpen(row.state)) return { isLost: false };
    if (row.alive_until <= tx.now) return { isLost: true };
    await tx.query(`UPDATE jobs SET read_until = ? WHERE ${ONE}`, ...[tx.now + ATTEND_MS, tx.key, kind, id]);
    // its owner learns of the first one at once
    if (row.read_until <= tx.now) tx.publish();
    return { isLost: false };
  });
}

/** Sets the columns of a response to {@link responseValues}. */
export const RESPONSE = `text = COALESCE(?, text), text_id = COALESCE(?, text_id), last_id = ?, is_whole = ?,
  head = COALESCE(?, head)`;

export function responseValues({ text, lastId, isWhole, head }: Append): readonly (string | number | null)[] {
  return [text, text === null ? null : lastId, lastId, Number(isWhole), head];
}

/** Inserts the parts of a job. A repeated part is the same one. */
export async function insertParts(
  tx: Transaction,
  kind: string,
  id: string,
  parts: readonly PartRow[],
): Promise<void> {
  const insert =
    "INSERT INTO job_parts (key, kind, job, last_id, text) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING";
  await Promise.all(parts.map(({ last_id, text }) => tx.query(insert, tx.key, kind, id, last_id, text)));
}

function describeOwned(row: Pick<JobRow, "stop" | "read_until"> | undefined, now: number): Owned {
  if (!row) return { isOwned: false, stop: null, readMs: 0 };
  return { isOwned: true, stop: row.stop, readMs: Math.max(0, row.read_until - now) };
}
