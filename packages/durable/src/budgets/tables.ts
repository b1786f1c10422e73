import type { Reader, Transaction } from "@sluice/worker-proxy/plugin";

/**
 * One row for each current window, one for each limit of an unsettled reservation, and one for each raise. `name` is
 * the limit, `resets_at` the end of the window, and `ends_at` the time at which a reservation becomes overdue.
 */
export const TABLES = [
  `CREATE TABLE IF NOT EXISTS budget_windows (key TEXT NOT NULL, name TEXT NOT NULL, resets_at BIGINT NOT NULL,
    spent BIGINT NOT NULL, reserved BIGINT NOT NULL, raised BIGINT NOT NULL, PRIMARY KEY (key, name))`,
  "CREATE INDEX IF NOT EXISTS budget_windows_end ON budget_windows (key, resets_at)",
  `CREATE TABLE IF NOT EXISTS budget_reservations (key TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL,
    resets_at BIGINT NOT NULL, amount BIGINT NOT NULL, ends_at BIGINT NOT NULL, PRIMARY KEY (key, id, name))`,
  "CREATE INDEX IF NOT EXISTS budget_reservations_end ON budget_reservations (key, ends_at)",
  `CREATE TABLE IF NOT EXISTS budget_raises (key TEXT NOT NULL, resets_at BIGINT NOT NULL, id TEXT NOT NULL,
    PRIMARY KEY (key, resets_at, id))`,
];

/** The sums of one window. */
export interface Sums {
  /** End of the window, in Unix milliseconds. */
  readonly resetsAt: number;
  readonly spent: number;
  readonly reserved: number;
  readonly raised: number;
}

/** A window with the name of its limit. */
export type NamedSums = Sums & { readonly name: string };

/** Overdue reservations: the process that had to settle them was lost, so they were spent in full. */
export interface Lost {
  /** Number of requests. */
  readonly count: number;
  readonly amount: number;
  /** Ids of a few of them. */
  readonly ids: readonly string[];
  /** True if there may be more. */
  readonly hasMore: boolean;
}

/** Maximum number of rows that a statement reads or deletes. */
export const PAGE = 100;

const MAX = Number.MAX_SAFE_INTEGER;
/** Columns of {@link NamedSums}. */
export const SUMS = 'name, resets_at AS "resetsAt", spent, reserved, raised';
const STORE = `INSERT INTO budget_windows (key, name, resets_at, spent, reserved, raised) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (key, name) DO UPDATE SET resets_at = excluded.resets_at, spent = excluded.spent,
  reserved = excluded.reserved, raised = excluded.raised`;
// an amount counts in the window of its reservation, however late it is settled
const SETTLE = `UPDATE budget_windows SET spent = CASE WHEN spent > ? THEN ${MAX} ELSE spent + ? END,
  reserved = CASE WHEN reserved > ? THEN reserved - ? ELSE 0 END WHERE key = ? AND name = ? AND resets_at = ?`;
const TAKE = 'RETURNING id, name, resets_at AS "resetsAt", amount';
const TAKE_LOST = `DELETE FROM budget_reservations WHERE key = ? AND (id, name) IN
  (SELECT id, name FROM budget_reservations WHERE key = ? AND ends_at <= ? ORDER BY ends_at LIMIT ${PAGE}) ${TAKE}`;

interface Reserved {
  readonly id: string;
  readonly name: string;
  readonly resetsAt: number;
  readonly amount: number;
}

/** Returns the end of the window that contains a time. */
export function calculateWindowEnd(now: number, windowMs: number): number {
  return now - (now % windowMs) + windowMs;
}

/**
 * Returns the current window. A stored window stays current until its end, so that a clock set back opens no new
 * window.
 */
export function selectWindow(stored: Sums | undefined, resetsAt: number): Sums {
  return stored && stored.resetsAt >= resetsAt ? stored : { resetsAt, spent: 0, reserved: 0, raised: 0 };
}

/** Reads the stored windows of some limits. */
export async function readWindows(reader: Reader, names: readonly string[]): Promise<Map<string, Sums>> {
  const marks = names.map(() => "?").join(", ");
  const sql = `SELECT ${SUMS} FROM budget_windows WHERE key = ? AND name IN (${marks})`;
  const rows = await reader.query<NamedSums>(sql, reader.key, ...names);
  return new Map(rows.map((row) => [row.name, row]));
}

export async function storeWindow({ query, key }: Transaction, name: string, sums: Sums): Promise<void> {
  await query(STORE, key, name, sums.resetsAt, sums.spent, sums.reserved, sums.raised);
}

/** Updates the reserved amount of a stored window. It writes one row, and leaves the index of window ends unchanged. */
export async function storeReserved(
  { query, key }: Transaction,
  name: string,
  reserved: number,
): Promise<void> {
  await query("UPDATE budget_windows SET reserved = ? WHERE key = ? AND name = ?", reserved, key, name);
}

export async function storeReservation(
  { query, key }: Transaction,
  { id, name, resetsAt, amount }: Reserved,
  endsAt: number,
): Promise<void> {
  const sql = `INSERT INTO budget_reservations (key, id, name, resets_at, amount, ends_at) VALUES (?, ?, ?, ?, ?, ?)`;
  await query(sql, key, id, name, resetsAt, amount, endsAt);
}

/** Returns true if a request has reserved an amount. */
export async function hasReserved({ query, key }: Reader, id: string): Promise<boolean> {
  const rows = await query("SELECT name FROM budget_reservations WHERE key = ? AND id = ?", key, id);
  return rows.length > 0;
}

/** Deletes the reservations of a request, and spends an amount instead. Does nothing without reservations. */
export async function settleReservation(transaction: Transaction, id: string, spent: number): Promise<void> {
  const { query, key } = transaction;
  const sql = `DELETE FROM budget_reservations WHERE key = ? AND id = ? ${TAKE}`;
  const taken = await query<Reserved>(sql, key, id);
  await Promise.all(taken.map((reserved) => spend(transaction, reserved, spent)));
}

/** Returns true if the key has an overdue reservation. As a read, it shares a round trip with other reads. */
export async function hasLost({ query, key, now }: Transaction): Promise<boolean> {
  const sql = "SELECT id FROM budget_reservations WHERE key = ? AND ends_at <= ? LIMIT 1";
  return (await query(sql, key, now)).length > 0;
}

/**
 * Spends overdue reservations in full, at most {@link PAGE}. Their responses may have been billed, and the process that
 * knew the cost has ended.
 */
export async function settleLost(transaction: Transaction): Promise<Lost> {
  const { query, key, now } = transaction;
  const taken = await query<Reserved>(TAKE_LOST, key, key, now);
  await Promise.all(taken.map((reserved) => spend(transaction, reserved, reserved.amount)));
  const amounts = new Map(taken.map(({ id, amount }) => [id, amount]));
  return {
    count: amounts.size,
    amount: [...amounts.values()].reduce((sum, amount) => sum + amount, 0),
    ids: [...amounts.keys()].slice(0, 5),
    hasMore: taken.length === PAGE,
  };
}

async function spend({ query, key }: Transaction, reserved: Reserved, spent: number): Promise<void> {
  const { name, resetsAt, amount } = reserved;
  await query(SETTLE, MAX - spent, spent, amount, amount, key, name, resetsAt);
}

/**
 * Deletes at most {@link PAGE} rows of a key from one table. Returns their number.
 *
 * @param endedBy deletes only rows whose window has ended by this time
 */
export async function deletePage(
  { query, key }: Transaction,
  table: string,
  columns: string,
  endedBy?: number,
): Promise<number> {
  const where = endedBy === undefined ? "" : "AND resets_at <= ?";
  const sql = `DELETE FROM ${table} WHERE key = ? AND (${columns}) IN
    (SELECT ${columns} FROM ${table} WHERE key = ? ${where} LIMIT ${PAGE}) RETURNING key`;
  return (await query(sql, key, key, ...(endedBy === undefined ? [] : [endedBy]))).length;
}
