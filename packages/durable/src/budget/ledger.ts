import { logError } from "@sluice/worker-proxy/internal";
import type { DurableObjectHandlers, ObjectState } from "../objects/object.js";
import { createTables, type TableSteps } from "../objects/tables.js";

/** One change of a ledger, or a read. */
export type LedgerEntry =
  | {
      readonly do: "reserve";
      readonly id: string;
      readonly amount: number;
      readonly limit: number;
      /** Longest time until it is settled, in milliseconds. */
      readonly holdMs: number;
    }
  | { readonly do: "settle"; readonly id: string; readonly amount: number }
  | { readonly do: "raise"; readonly amount: number }
  /** `erase` deletes all that is stored. */
  | { readonly do: "read" | "reset" | "erase" };

type Reserving = Extract<LedgerEntry, { readonly do: "reserve" }>;

/** A message to a ledger. */
export type LedgerRequest = LedgerEntry & { readonly windowMs: number };

interface Sums {
  readonly spent: number;
  readonly reserved: number;
  readonly raised: number;
}

/** The amounts of the present window after an entry. */
export interface LedgerState extends Sums {
  /** Milliseconds since 1970. */
  readonly resetsAt: number;
  /** Present where nothing was reserved, because the limit would be passed. */
  readonly retryAfterMs?: number;
}

/**
 * One ledger, a class of Durable Objects with SQLite. Export it from the Worker under the name that its configuration
 * binds; `budget` does the rest. Its work does not grow with the number of requests that are under way.
 *
 * @example
 * ```ts
 * export { Budget } from "@sluice/durable";
 * ```
 */
export class Budget implements DurableObjectHandlers {
  readonly fetch: DurableObjectHandlers["fetch"];
  readonly alarm: DurableObjectHandlers["alarm"];

  constructor(state: ObjectState) {
    const ledger = createLedger(state);
    this.fetch = ledger.fetch;
    this.alarm = ledger.alarm;
  }
}

/** A row for each window with its sums, and one for each reservation that is not settled. */
const TABLES: TableSteps = {
  first: "amounts",
  steps: [
    ["CREATE TABLE amounts (id TEXT, turnsAt INTEGER, amount INTEGER, PRIMARY KEY (id, turnsAt))"],
    [
      "CREATE TABLE windows (turnsAt INTEGER PRIMARY KEY, spent INTEGER, reserved INTEGER, raised INTEGER)",
      "CREATE TABLE reservations (id TEXT PRIMARY KEY, turnsAt INTEGER, amount INTEGER, endsAt INTEGER) WITHOUT ROWID",
      "CREATE INDEX reservations_by_end ON reservations (endsAt)",
      `INSERT INTO windows SELECT turnsAt, total(amount) FILTER (WHERE id = 'spent'),
        total(amount) FILTER (WHERE id NOT IN ('spent', 'raised')), total(amount) FILTER (WHERE id = 'raised')
        FROM amounts GROUP BY turnsAt`,
      `INSERT OR IGNORE INTO reservations SELECT id, turnsAt, amount, turnsAt FROM amounts
        WHERE id NOT IN ('spent', 'raised')`,
      "DROP TABLE amounts",
    ],
  ],
};

/** Most reservations that a request ends because nobody has settled them; an alarm ends more. */
const FEW = 5;
const MANY = 500;
/**
 * Longest time between the end of a window and the alarm that forgets it. The windows of all users end at once; their
 * alarms must not.
 */
const JITTER_MS = 60 * 60 * 1000;
/** Time for which a request that was under way may still come after its user was erased. */
const LATE_MS = 60_000;
/** Time until the next alarm where one has not ended all reservations that are overdue. */
const SOON_MS = 1000;

function createLedger({ storage }: ObjectState): DurableObjectHandlers {
  const { sql } = storage;
  const tables = createTables({ sql, deleteAll: () => storage.deleteAll() }, TABLES);
  /**
   * The part of an hour by which the alarm follows the window's end. Drawn once: of many draws, a busy object would use
   * the shortest.
   */
  const jitterMs = Math.floor(Math.random() * JITTER_MS);
  /** Time of the alarm; undefined where it is not known yet. */
  let alarmAt: number | null | undefined;
  /** No reservation ends before this time: until then nothing has to be looked for. */
  let calmUntil = 0;
  let lateUntil = 0;
  /** Reservations that came after their user was erased: nothing of them stays. */
  const late = new Set<string>();
  return { fetch: async (request) => Response.json(await enter(await request.json())), alarm };

  async function enter({ windowMs, ...entry }: LedgerRequest): Promise<LedgerState> {
    const now = Date.now();
    const resetsAt = now - (now % windowMs) + windowMs;
    // a read or a settlement creates no tables: nothing would ever delete them
    if (entry.do === "reserve" || entry.do === "raise") tables.create();
    if (entry.do === "erase") {
      lateUntil = now + LATE_MS;
      await deleteAll();
    }
    if (!tables.exist()) return { spent: 0, reserved: 0, raised: 0, resetsAt };
    endOverdue(now, FEW);
    // nothing is awaited between the read and the write
    if (entry.do === "reserve") {
      const { spent, reserved, raised } = sums(resetsAt);
      if (spent + reserved + entry.amount > entry.limit + raised)
        return { spent, reserved, raised, resetsAt, retryAfterMs: resetsAt - now };
    }
    const wasLate = late.has(entry.do === "settle" ? entry.id : "");
    const state = { ...change(entry, resetsAt, now), resetsAt };
    if (wasLate && state.spent + state.reserved + state.raised === 0) await deleteAll();
    if (entry.do === "reserve") await wakeBy(Math.min(now + entry.holdMs, resetsAt + jitterMs));
    if (entry.do === "raise") await wakeBy(resetsAt + jitterMs);
    return state;
  }

  /** Makes the change of an entry, and returns the sums of the present window after it. */
  function change(entry: LedgerEntry, turnsAt: number, now: number): Sums {
    if (entry.do === "reserve") return reserve(entry, turnsAt, now);
    if (entry.do === "raise") return add(turnsAt, { raised: entry.amount });
    const settled = entry.do === "settle" ? settle(entry.id, entry.amount) : undefined;
    if (settled?.turnsAt === turnsAt) return settled;
    if (entry.do === "reset") sql.exec("UPDATE windows SET spent = 0, raised = 0 WHERE turnsAt = ?", turnsAt);
    return sums(turnsAt);
  }

  function sums(turnsAt: number): Sums {
    const [row] = sql
      .exec("SELECT spent, reserved, raised FROM windows WHERE turnsAt = ?", turnsAt)
      .toArray();
    return (row as Sums | undefined) ?? { spent: 0, reserved: 0, raised: 0 };
  }

  function add(turnsAt: number, { reserved = 0, raised = 0 }): Sums {
    const [row] = sql
      .exec(
        `INSERT INTO windows VALUES (?, 0, ?, ?) ON CONFLICT DO UPDATE
          SET reserved = reserved + excluded.reserved, raised = raised + excluded.raised
          RETURNING spent, reserved, raised`,
        turnsAt,
        reserved,
        raised,
      )
      .toArray();
    return row as unknown as Sums;
  }

  /** Reserves an amount. A request that comes twice counts once. */
  function reserve({ id, amount, holdMs }: Reserving, turnsAt: number, now: number): Sums {
    const endsAt = now + holdMs;
    if (now < lateUntil) late.add(id);
    const row = sql.exec(
      "INSERT OR IGNORE INTO reservations VALUES (?, ?, ?, ?) RETURNING id",
      id,
      turnsAt,
      amount,
      endsAt,
    );
    if (row.toArray().length === 0) return sums(turnsAt);
    calmUntil = Math.min(calmUntil, endsAt);
    return add(turnsAt, { reserved: amount });
  }

  /** An amount counts in the window in which it was reserved, however late it is settled. */
  function settle(id: string, spent: number): (Sums & { readonly turnsAt: number }) | undefined {
    const [row] = sql.exec("DELETE FROM reservations WHERE id = ? RETURNING turnsAt, amount", id).toArray();
    const isLate = late.delete(id);
    if (!row) return undefined;
    const [window] = sql
      .exec(
        `UPDATE windows SET spent = spent + ?, reserved = reserved - ? WHERE turnsAt = ?
          RETURNING turnsAt, spent, reserved, raised`,
        isLate ? 0 : spent,
        row["amount"],
        row["turnsAt"],
      )
      .toArray();
    return window as (Sums & { readonly turnsAt: number }) | undefined;
  }

  /**
   * Spends reservations in full that nobody has settled in time. Their answers may have been made, and a process that
   * would know has gone.
   */
  function endOverdue(now: number, most: number): void {
    if (now < calmUntil) return;
    const next = sql
      .exec("SELECT id, amount, endsAt FROM reservations ORDER BY endsAt LIMIT ?", most)
      .toArray();
    const rows = next.filter(({ endsAt }) => Number(endsAt) <= now);
    calmUntil = Number(next[rows.length]?.["endsAt"] ?? (next.length < most ? Infinity : now));
    for (const { id, amount } of rows) settle(id as string, amount as number);
    if (rows.length === 0) return;
    const amount = rows.reduce((sum, row) => sum + Number(row["amount"]), 0);
    const ids = rows.slice(0, FEW).map(({ id }) => id);
    logError(`budget: nobody settled ${rows.length} reservations, of ${amount}; they are spent: ${ids}`);
  }

  async function alarm(): Promise<void> {
    alarmAt = null;
    const now = Date.now();
    if (!tables.exist()) return deleteAll();
    endOverdue(now, MANY);
    sql.exec("DELETE FROM windows WHERE turnsAt <= ?", now);
    const [{ endsAt, turnsAt } = {}] = sql
      .exec(
        "SELECT (SELECT min(endsAt) FROM reservations) AS endsAt, (SELECT min(turnsAt) FROM windows) AS turnsAt",
      )
      .toArray();
    const times = [endsAt, turnsAt === null ? null : Number(turnsAt) + jitterMs].filter((at) => at !== null);
    if (times.length === 0) await deleteAll();
    else await wakeBy(Math.max(Math.min(...times.map(Number)), now + SOON_MS));
  }

  async function deleteAll(): Promise<void> {
    await tables.deleteAll();
    alarmAt = null;
    calmUntil = 0;
  }

  /** Sets the alarm, unless there is an earlier one. */
  async function wakeBy(at: number): Promise<void> {
    alarmAt ??= await storage.getAlarm();
    if (alarmAt !== null && alarmAt !== undefined && alarmAt <= at) return;
    alarmAt = at;
    await storage.setAlarm(at);
  }
}
