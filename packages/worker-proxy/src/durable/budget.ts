import type { Payable, Usage } from "../admitted.js";
import { readBinding } from "../env.js";
import type { Meter, Reservation } from "../extension.js";
import { hashOf, objectNamed } from "./object-name.js";
import type { DurableObjectHandlers, ObjectNamespace, ObjectState } from "./platform.js";

/**
 * What {@link budget} takes. Amounts are whole numbers of a unit so small that nothing is lost: millionths of a dollar,
 * or tokens. A fraction is rounded up.
 */
export interface BudgetOptions<Env = unknown> {
  /** The binding to {@link Budget}. */
  readonly namespace: (env: Env) => ObjectNamespace | undefined;
  /** What one user can spend in one window. */
  readonly limit: number | ((payable: Payable<Env>) => number);
  /**
   * How long a window lasts, in milliseconds. Windows are counted from 1970 in UTC and are the same for everybody: a day's
   * turns at midnight. Around a turn a user can thus spend twice the limit.
   */
  readonly windowMs: number;
  /** The most that the request can cost; what it costs beyond is spent all the same, and may pass the limit. */
  readonly reserveFor: (payable: Payable<Env>) => number;
  /**
   * What the request has cost. Where it throws or gives no number, all that was reserved is spent. For answers without
   * `usage`, videos among them, it is not asked.
   */
  readonly cost: (usage: Usage, payable: Payable<Env>) => number;
}

/** What the ledger is told; an answer to `reserve` has `id` or `retryAfterMs`. */
type Entry =
  | { readonly id: string; readonly reserve: number; readonly limit: number; readonly windowMs: number }
  | { readonly id: string; readonly settle: number };

/**
 * Gives each user a budget, in a Durable Object of their own: what a request may cost is set aside before the gateway is
 * asked, so that requests at the same time can't spend the same money. What is never settled, because the client left or
 * the Worker died, stays spent until the window turns.
 *
 * @throws {TypeError} when `windowMs` is no whole number from 1 up, or `limit` none from 0 up
 * @example
 * ```ts
 * export { Budget } from "@sluice/worker-proxy/durable";
 * const meter = budget<Env>({
 *   namespace: (env) => env.BUDGET,
 *   limit: 200_000, // tokens
 *   windowMs: 24 * 60 * 60 * 1000,
 *   reserveFor: ({ body }) => Number(body?.max_tokens) || 8192, // with a cap on it: what is left out may cost more
 *   cost: (usage) => Number(usage.total_tokens),
 * });
 * export default createProxy<Env>({ ...options, meter });
 * ```
 */
export function budget<Env = unknown>(options: BudgetOptions<Env>): Meter<Env> {
  const { namespace, limit, windowMs, reserveFor, cost } = options;
  if (!Number.isSafeInteger(windowMs) || windowMs < 1)
    throw new TypeError("windowMs: give a whole number from 1 up");
  if (typeof limit === "number") amountOf(limit, "limit");
  const bound = (env: Env) => readBinding("budget", namespace, env);
  return { reserve, checks: [bound] };

  async function reserve(payable: Payable<Env>): Promise<Reservation | { readonly retryAfterMs: number }> {
    const { env, user } = payable;
    const ledger = objectNamed(bound(env), await hashOf(user.id));
    const id = crypto.randomUUID();
    const reserved = amountOf(reserveFor(payable), "reserveFor");
    const most = amountOf(typeof limit === "number" ? limit : limit(payable), "limit");
    const refused = await tell(ledger, { id, reserve: reserved, limit: most, windowMs });
    if (refused) return refused;
    const settleFor = async (amount: number) => void (await tell(ledger, { id, settle: amount }));
    return {
      settle: (usage) => settleFor(costOf(usage, payable) ?? reserved),
      release: () => settleFor(0),
    };
  }

  function costOf(usage: Usage | undefined, payable: Payable<Env>): number | undefined {
    try {
      return usage && amountOf(cost(usage, payable), "cost");
    } catch {
      return undefined;
    }
  }
}

/** @throws {TypeError} for what is no amount: with it every comparison would be false, and so every request paid for */
function amountOf(value: number, name: string): number {
  const amount = Math.ceil(value);
  if (!Number.isSafeInteger(amount) || amount < 0) throw new TypeError(`${name}: give a number from 0 up`);
  return amount;
}

type Refused = { readonly retryAfterMs: number };

/** @throws {Error} when the ledger can't be asked: a request that nobody counts is none that may pass */
async function tell(ledger: ReturnType<typeof objectNamed>, entry: Entry): Promise<Refused | undefined> {
  const response = await ledger.fetch(
    new Request("https://budget/", { method: "POST", body: JSON.stringify(entry) }),
  );
  if (response.ok) return undefined;
  if (response.status === 402) return (await response.json()) as Refused;
  throw new Error(`the budget answered with ${response.status}`);
}

/**
 * One user's ledger, a class of Durable Objects with SQLite. Export it from the Worker under the name that its
 * configuration binds; {@link budget} does the rest. Rows are kept until their window turns.
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

/** A row for each reservation that is open, and one, `spent`, for all that are settled. */
function createLedger({ storage }: ObjectState): DurableObjectHandlers {
  const { sql } = storage;
  return { fetch: enter, alarm };

  async function enter(request: Request): Promise<Response> {
    const entry = (await request.json()) as Entry;
    // nothing is awaited between looking and writing
    if ("settle" in entry) {
      settle(entry.id, entry.settle);
      return new Response(null, { status: 204 });
    }
    open();
    const { windowMs, limit, reserve, id } = entry;
    const now = Date.now();
    const turnsAt = now - (now % windowMs) + windowMs;
    if (spentAt(now) + reserve > limit)
      return Response.json({ retryAfterMs: turnsAt - now }, { status: 402 });
    add(id, turnsAt, reserve);
    await storage.setAlarm(turnsAt);
    return new Response(null, { status: 204 });
  }

  /** Made when it is needed: `deleteAll` takes it away under an object that lives on. */
  function open(): void {
    sql.exec(
      "CREATE TABLE IF NOT EXISTS amounts (id TEXT, turnsAt INTEGER, amount INTEGER, PRIMARY KEY (id, turnsAt))",
    );
  }

  /** An amount counts in the window in which it was set aside, however late it is settled. */
  function settle(id: string, amount: number): void {
    // after its window's turn all may be deleted, and nothing would delete what is made then
    const [table] = sql.exec("SELECT name FROM sqlite_master WHERE name = 'amounts'").toArray();
    if (!table) return;
    const [row] = sql.exec("DELETE FROM amounts WHERE id = ? RETURNING turnsAt", id).toArray();
    if (row) add("spent", row["turnsAt"] as number, amount);
  }

  function add(id: string, turnsAt: number, amount: number): void {
    sql.exec(
      "INSERT INTO amounts VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET amount = amount + excluded.amount",
      id,
      turnsAt,
      amount,
    );
  }

  function spentAt(now: number): number {
    sql.exec("DELETE FROM amounts WHERE turnsAt <= ?", now);
    const [row] = sql.exec("SELECT total(amount) AS spent FROM amounts").toArray();
    return row?.["spent"] as number;
  }

  async function alarm(): Promise<void> {
    open();
    sql.exec("DELETE FROM amounts WHERE turnsAt <= ?", Date.now());
    const [row] = sql.exec("SELECT max(turnsAt) AS turnsAt FROM amounts").toArray();
    const turnsAt = row?.["turnsAt"] as number | null;
    if (turnsAt === null) await storage.deleteAll();
    else await storage.setAlarm(turnsAt);
  }
}
