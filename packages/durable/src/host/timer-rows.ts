import type { SQL, Transaction, Value } from "@sluice/worker-proxy/plugin";
import type { Query } from "./run-step.js";

/**
 * Tables of the timers.
 *
 * - `due`: the time of the next claim. While the job runs, it is the end of the lease.
 * - `attempts`: number of attempts; `deaths`: number of consecutive attempts that have not reported their end.
 * - `run`: the id of the running attempt.
 * - `next_due`, `next_input`: a timer that was stored under the same id while the job runs.
 */
const TIMER_TABLES = [
  `CREATE TABLE IF NOT EXISTS timers (key TEXT NOT NULL, job TEXT NOT NULL, id TEXT NOT NULL, due BIGINT NOT NULL,
    input TEXT NOT NULL, attempts BIGINT NOT NULL, deaths BIGINT NOT NULL, run TEXT, next_due BIGINT, next_input TEXT,
    is_canceled BIGINT NOT NULL, PRIMARY KEY (key, job, id))`,
  "CREATE INDEX IF NOT EXISTS timers_due ON timers (key, due)",
];

/** Maximum number of keys with too many running jobs that a claim skips. */
export const MAX_BUSY_KEYS = 64;

/**
 * Table of the keys with timers, in a database of many keys. `due` is at most the time of the key's earliest timer,
 * except after a turn. Keys take turns, so that a user with many timers does not delay other users.
 */
const KEY_TABLES = [
  "CREATE TABLE IF NOT EXISTS timer_keys (key TEXT NOT NULL PRIMARY KEY, due BIGINT NOT NULL)",
  "CREATE INDEX IF NOT EXISTS timer_keys_due ON timer_keys (due)",
];
export const EARLIER =
  "ON CONFLICT (key) DO UPDATE SET due = CASE WHEN excluded.due < timer_keys.due THEN excluded.due ELSE timer_keys.due END";
export const TOUCH_KEY = `INSERT INTO timer_keys (key, due) VALUES (?, ?) ${EARLIER}`;
const lockKey = (lock: string) => `SELECT key FROM timer_keys WHERE key = ? ${lock}`;
const LOCK_KEY: SQL = { sqlite: lockKey(""), postgres: lockKey("FOR UPDATE") };
const BUSY = Array(MAX_BUSY_KEYS).fill("?").join(", ");
const findKeys = (lock: string) =>
  `SELECT key FROM timer_keys WHERE due <= ? AND key NOT IN (${BUSY}) ORDER BY due LIMIT ? ${lock}`;
const FIND_KEYS: SQL = { sqlite: findKeys(""), postgres: findKeys("FOR UPDATE SKIP LOCKED") };
// after its turn a key with more due timers queues behind the other keys
const END_TURN = `UPDATE timer_keys SET due = CASE WHEN (SELECT MIN(due) FROM timers WHERE key = ?) > ?
  THEN (SELECT MIN(due) FROM timers WHERE key = ?) ELSE ? END WHERE key = ?`;
// a subquery instead of `NOT EXISTS`, for which Postgres reads the whole table
const DROP_KEY =
  "DELETE FROM timer_keys WHERE key = ? AND (SELECT MIN(due) FROM timers WHERE key = ?) IS NULL";
// keys whose last turn was stored by a clock that ran ahead
const REPAIR_KEYS = `UPDATE timer_keys SET due = ? WHERE due > ? AND EXISTS
  (SELECT 1 FROM timers WHERE timers.key = timer_keys.key AND timers.due <= ?)`;
const NEXT_KEY = "SELECT MIN(due) AS due FROM timer_keys WHERE due > ?";

const keep = (column: string, value: string) =>
  `${column} = CASE WHEN timers.run IS NULL THEN ${value} ELSE timers.${column} END`;
const later = (column: string, value: string) =>
  `${column} = CASE WHEN timers.run IS NULL THEN NULL ELSE ${value} END`;
export const REPLACE = `ON CONFLICT (key, job, id) DO UPDATE SET
  ${keep("due", "excluded.due")}, ${keep("input", "excluded.input")}, ${keep("attempts", "0")},
  ${keep("deaths", "0")}, ${keep("is_canceled", "0")},
  ${later("next_due", "excluded.due")}, ${later("next_input", "excluded.input")}`;
export const COLUMNS = "(key, job, id, due, input, attempts, deaths, is_canceled)";
const SCHEDULE = `INSERT INTO timers ${COLUMNS} VALUES (?, ?, ?, ?, ?, 0, 0, 0) ${REPLACE}`;
const ONE = "WHERE key = ? AND job = ? AND id = ?";
const CANCEL = `DELETE FROM timers ${ONE} AND run IS NULL`;
// the row stays while the job runs, so that the same timer, stored again, does not run concurrently
const CANCEL_RUNNING = `UPDATE timers SET is_canceled = 1, next_due = NULL, next_input = NULL ${ONE} AND run IS NOT NULL`;

// all rows have the same key, and the index of due times begins with the key
const DUE_KEY =
  "SELECT key FROM timers WHERE key = (SELECT key FROM timers LIMIT 1) AND due <= ? ORDER BY due LIMIT 1";
// A materialized list, because Postgres may repeat a subquery, and each time it skips the rows that are claimed already.
// Postgres rechecks the outer condition after a row lock, because the timer may be postponed meanwhile.
const claim = (lock: string) => `WITH next AS MATERIALIZED
    (SELECT job, id FROM timers WHERE key = ? AND due <= ? ORDER BY due LIMIT ? ${lock})
  UPDATE timers SET attempts = attempts + 1, deaths = deaths + 1, due = ?, run = ?
  WHERE key = ? AND due <= ? AND (job, id) IN (SELECT job, id FROM next)
  RETURNING key, job, id, attempts, deaths, run, input, next_due, is_canceled`;
// skips locked rows: a transaction that stores a timer may itself wait for the key's row
const CLAIM: SQL = { sqlite: claim(""), postgres: claim("FOR UPDATE SKIP LOCKED") };
const NEXT = "next_due IS NOT NULL";
const MINE = `${ONE} AND run = ?`;
const START_NEXT = `UPDATE timers SET due = next_due, input = next_input, attempts = 0, deaths = ?, run = NULL,
  next_due = NULL, next_input = NULL, is_canceled = 0 ${MINE} AND ${NEXT} RETURNING due`;
const PUT_BACK = `UPDATE timers SET due = ?, attempts = attempts - 1, deaths = deaths - 1, run = NULL ${MINE}`;
const FINISH = `DELETE FROM timers ${MINE}`;
const FINISH_CANCELED = `DELETE FROM timers ${MINE} AND is_canceled = 1`;
const RETRY = `UPDATE timers SET due = ?, attempts = ?, deaths = 0, run = NULL ${MINE}`;
const RENEW = `UPDATE timers SET due = ? ${MINE}`;
const NEXT_OF_KEY = "SELECT MIN(due) AS due FROM timers WHERE key = ?";

/** A timer whose job runs. */
export interface ClaimedTimer {
  readonly key: string;
  readonly job: string;
  readonly id: string;
  readonly attempts: number;
  readonly deaths: number;
  readonly run: string;
  readonly input: string;
  readonly next_due: number | null;
  readonly is_canceled: number;
}

/** Bounds of a claim. */
interface ClaimOptions {
  readonly leaseUntil: number;
  readonly limit: number;
  readonly limitOfKey: number;
  /** Keys that already run their maximum number of jobs. */
  readonly busy: readonly string[];
}

/**
 * Runs the statements of timers. A transaction locks the row of a key before the rows of its timers, and several keys
 * in sorted order. Transactions that lock in different orders would deadlock.
 */
export class TimerRows {
  readonly tables: readonly string[];
  /** False for a database of one key, as in a Durable Object. */
  readonly hasKeys: boolean;
  readonly #scheduleLocked: string | undefined;

  /**
   * @param scheduleLocked statement that locks the row of a key and then stores a timer, for a database that several
   * processes share
   */
  constructor(hasKeys: boolean, scheduleLocked?: string) {
    this.hasKeys = hasKeys;
    this.#scheduleLocked = scheduleLocked;
    this.tables = hasKeys ? [...TIMER_TABLES, ...KEY_TABLES] : TIMER_TABLES;
  }

  /** Creates the methods of a transaction that store and cancel timers. */
  methods(
    key: string,
    query: Query,
    onSchedule: (at: number) => void,
  ): Pick<Transaction, "schedule" | "cancel"> {
    return {
      schedule: async (job, { id, at, input }) => {
        if (!Number.isSafeInteger(at))
          throw new TypeError(`timer of job "${job.name}": at: give whole milliseconds, and not ${at}`);
        const values = [job.name, id, at, JSON.stringify(input)];
        if (this.#scheduleLocked) await query(this.#scheduleLocked, key, at, ...values);
        else await Promise.all([this.#touch(query, key, at), query(SCHEDULE, key, ...values)]);
        onSchedule(at);
      },
      cancel: async (job, id) => {
        await Promise.all([
          this.#lock(query, key),
          query(CANCEL, key, job.name, id),
          query(CANCEL_RUNNING, key, job.name, id),
          // a user whose data is erased leaves no key behind
          this.hasKeys && query(DROP_KEY, key, key),
        ]);
      },
    };
  }

  /**
   * Claims due timers of several keys in turn. This transaction counts the attempt before the job runs, so that an
   * attempt that ends its process counts.
   */
  async claim(
    query: Query,
    now: number,
    { leaseUntil, limit, limitOfKey, busy }: ClaimOptions,
  ): Promise<readonly ClaimedTimer[]> {
    const left = [...busy, ...Array<string>(MAX_BUSY_KEYS).fill("")].slice(0, MAX_BUSY_KEYS);
    const keys = await (this.hasKeys
      ? query<{ key: string }>(FIND_KEYS, now, ...left, limit)
      : query<{ key: string }>(DUE_KEY, now));
    const each = Math.min(limitOfKey, Math.floor(limit / Math.max(keys.length, 1)));
    const claimed = await Promise.all(
      keys.map(async ({ key }) => {
        const run = crypto.randomUUID();
        const [timers] = await Promise.all([
          query<ClaimedTimer>(CLAIM, key, now, each, leaseUntil, run, key, now),
          this.hasKeys && query(END_TURN, key, now, key, now, key),
          this.hasKeys && query(DROP_KEY, key, key),
        ]);
        return timers;
      }),
    );
    const timers = claimed.flat();
    const replaced = timers.filter(({ next_due, is_canceled }) => next_due !== null || is_canceled === 1);
    for (const timer of replaced) await this.#dropLost(query, timer);
    return timers.filter((timer) => !replaced.includes(timer));
  }

  /** Ends an attempt of an ended process, whose timer was replaced or canceled meanwhile. */
  async #dropLost(query: Query, timer: ClaimedTimer): Promise<void> {
    const mine = identify(timer);
    const [next] = await query<{ due: number }>(START_NEXT, timer.deaths - 1, ...mine);
    if (!next) await query(FINISH_CANCELED, ...mine);
    else await this.#touch(query, timer.key, next.due);
  }

  /**
   * Ends an attempt. Returns the time at which the timer is due next; null without another attempt.
   *
   * @param retryAt time of the next attempt; null after a success or the last attempt
   */
  async end(query: Query, timer: ClaimedTimer, retryAt: number | null): Promise<number | null> {
    const mine = identify(timer);
    const [, [next]] = await Promise.all([
      this.#lock(query, timer.key),
      query<{ due: number }>(START_NEXT, 0, ...mine),
      query(retryAt === null ? FINISH : FINISH_CANCELED, ...mine),
      retryAt !== null && query(RETRY, retryAt, timer.attempts, ...mine),
    ]);
    const due = next?.due ?? retryAt;
    if (due !== null) await this.#touch(query, timer.key, due);
    return due;
  }

  /** Puts claimed timers back, so that these attempts do not count. */
  async putBack(query: Query, timers: readonly ClaimedTimer[], due: number): Promise<void> {
    const inOrder = [...timers].sort((one, other) => (one.key < other.key ? -1 : 1));
    for (const timer of inOrder)
      await Promise.all([this.#touch(query, timer.key, due), query(PUT_BACK, due, ...identify(timer))]);
  }

  async renew(query: Query, timers: readonly ClaimedTimer[], leaseUntil: number): Promise<void> {
    await Promise.all(timers.map((timer) => query(RENEW, leaseUntil, ...identify(timer))));
  }

  /** Makes keys with due timers due again after the clock was set back. */
  async repair(query: Query, now: number): Promise<void> {
    if (this.hasKeys) await query(REPAIR_KEYS, now, now, now);
  }

  /** Reads the time at which the next key becomes due. It skips keys that are due now: they wait for running jobs. */
  async readNextKey(query: Query, now: number): Promise<number | null> {
    if (!this.hasKeys) return null;
    const [row] = await query<{ due: number | null }>(NEXT_KEY, now);
    return row?.due ?? null;
  }

  /** Reads the time of the next timer of a key. */
  async readNext(query: Query, key: string): Promise<number | null> {
    const [row] = await query<{ due: number | null }>(NEXT_OF_KEY, key);
    return row?.due ?? null;
  }

  /** Stores that a key is due at a time, unless it is due earlier. */
  async #touch(query: Query, key: string, due: number): Promise<void> {
    if (this.hasKeys) await query(TOUCH_KEY, key, due);
  }

  /** Locks the row of a key until the transaction ends. */
  async #lock(query: Query, key: string): Promise<void> {
    if (this.hasKeys) await query(LOCK_KEY, key);
  }
}

function identify({ key, job, id, run }: ClaimedTimer): readonly Value[] {
  return [key, job, id, run];
}
