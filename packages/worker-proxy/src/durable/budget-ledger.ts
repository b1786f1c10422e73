import type { DurableObjectHandlers, ObjectState } from "./platform.js";

/** One change of a ledger, or a read. */
export type LedgerEntry =
  | { readonly do: "reserve"; readonly id: string; readonly amount: number; readonly limit: number }
  | { readonly do: "settle"; readonly id: string; readonly amount: number }
  | { readonly do: "raise"; readonly amount: number }
  | { readonly do: "read" | "reset" };

/** A message to a ledger. */
export type LedgerRequest = LedgerEntry & { readonly windowMs: number };

/** The amounts of the present window after an entry. */
export interface LedgerState {
  readonly spent: number;
  readonly reserved: number;
  readonly raised: number;
  /** Milliseconds since 1970. */
  readonly resetsAt: number;
  /** Present where nothing was reserved, because the limit would be passed. */
  readonly retryAfterMs?: number;
}

/**
 * One ledger, a class of Durable Objects with SQLite. Export it from the Worker under the name that its configuration
 * binds; `budget` does the rest. Rows are kept until their window ends.
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

/**
 * The sums of a window. `spent` is one row for all settled requests, `raised` one for what the operator has added to the
 * limit; each other row is an open reservation.
 */
const SUMS = `SELECT total(amount) FILTER (WHERE id = 'spent') AS spent,
  total(amount) FILTER (WHERE id = 'raised') AS raised,
  total(amount) FILTER (WHERE id NOT IN ('spent', 'raised')) AS reserved FROM amounts`;

function createLedger({ storage }: ObjectState): DurableObjectHandlers {
  const { sql } = storage;
  return { fetch: async (request) => Response.json(await enter(await request.json())), alarm };

  async function enter({ windowMs, ...entry }: LedgerRequest): Promise<LedgerState> {
    const now = Date.now();
    const resetsAt = now - (now % windowMs) + windowMs;
    // nothing is awaited between the read and the write
    if (entry.do === "reserve") {
      const { spent, reserved, raised } = sums(now);
      if (spent + reserved + entry.amount > entry.limit + raised)
        return { spent, reserved, raised, resetsAt, retryAfterMs: resetsAt - now };
      add(entry.id, resetsAt, entry.amount);
    }
    if (entry.do === "settle") settle(entry.id, entry.amount);
    if (entry.do === "raise") add("raised", resetsAt, entry.amount);
    if (entry.do === "reset" && hasRows()) sql.exec("DELETE FROM amounts WHERE id IN ('spent', 'raised')");
    const state = { ...sums(now), resetsAt };
    if (entry.do === "reserve" || entry.do === "raise") await storage.setAlarm(resetsAt);
    return state;
  }

  /** Returns true if the table exists. A read or a settlement creates none, which would never be deleted. */
  function hasRows(): boolean {
    return sql.exec("SELECT name FROM sqlite_master WHERE name = 'amounts'").toArray().length > 0;
  }

  /** An amount counts in the window in which it was reserved, however late it is settled. */
  function settle(id: string, amount: number): void {
    if (!hasRows()) return;
    const [row] = sql.exec("DELETE FROM amounts WHERE id = ? RETURNING turnsAt", id).toArray();
    if (row) add("spent", row["turnsAt"] as number, amount);
  }

  function add(id: string, turnsAt: number, amount: number): void {
    // `deleteAll` removes the table while the object lives on
    sql.exec(
      "CREATE TABLE IF NOT EXISTS amounts (id TEXT, turnsAt INTEGER, amount INTEGER, PRIMARY KEY (id, turnsAt))",
    );
    sql.exec(
      "INSERT INTO amounts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET amount = amount + excluded.amount",
      id,
      turnsAt,
      amount,
    );
  }

  function sums(now: number): Omit<LedgerState, "resetsAt"> {
    if (!hasRows()) return { spent: 0, reserved: 0, raised: 0 };
    sql.exec("DELETE FROM amounts WHERE turnsAt <= ?", now);
    const [row] = sql.exec(SUMS).toArray();
    return row as unknown as LedgerState;
  }

  async function alarm(): Promise<void> {
    if (!hasRows()) return storage.deleteAll();
    sql.exec("DELETE FROM amounts WHERE turnsAt <= ?", Date.now());
    const [row] = sql.exec("SELECT max(turnsAt) AS turnsAt FROM amounts").toArray();
    const turnsAt = row?.["turnsAt"] as number | null;
    if (turnsAt === null) await storage.deleteAll();
    else await storage.setAlarm(turnsAt);
  }
}
