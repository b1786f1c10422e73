import type { Admitted, Meter, Payable, Reservation, Usage, User } from "../admitted.js";
import { decided, readBinding } from "../refusal.js";
import type { LedgerEntry, LedgerRequest, LedgerState } from "./budget-ledger.js";
import { hashOf, type ObjectNamespace, objectNamed } from "./platform.js";

/** The requests that count together. */
export type BudgetBy = "user" | "session" | "address" | "all";

/** A limit in each window, or a function that gives it. */
export type BudgetLimit<Env> = number | ((reader: BudgetReader<Env>) => number);

/**
 * Options of {@link budget}. Amounts are whole numbers of a unit so small that nothing is lost: millionths of a dollar,
 * or tokens. A fraction is rounded up.
 */
export interface BudgetOptions<Env = unknown> {
  /** The binding to `Budget`. */
  readonly namespace: (env: Env) => ObjectNamespace | undefined;
  /**
   * The most that can be spent in one window, at least one of four. A request has to fit into all that are given.
   *
   * - `user`: each user that `authenticate` knows.
   * - `session`: each `session` of a user.
   * - `address`: each network address; an IPv6 address counts as its network of 64 bits. Requests without an address
   *   count together.
   * - `all`: all requests together. One Durable Object counts them all, some hundreds in a second.
   */
  readonly limits: Readonly<Partial<Record<BudgetBy, BudgetLimit<Env>>>>;
  /**
   * The length of a window, in milliseconds. Windows are counted from 1970 in UTC and are the same for everybody: a day
   * ends at midnight. Around the end of a window twice the limit can be spent.
   */
  readonly windowMs: number;
  /**
   * The most that the request can cost for one answer; a request with `n` reserves `n` times as much. A request that
   * costs more than this is spent in full, and may pass the limit.
   */
  readonly reserveFor: (payable: Payable<Env>) => number;
  /**
   * The cost of an answer. Fields of `usage` that are null are left out. Where the function throws or gives no number,
   * all that was reserved is spent. Answers without `usage`, such as those about videos, are spent in full without it.
   *
   * @default `usage.total_tokens` where it is more than 0
   */
  readonly cost?: (usage: Usage, payable: Payable<Env>) => number;
}

/** The user whose budgets are read. */
export interface BudgetReader<Env = unknown> {
  readonly env: Env;
  readonly user: User;
}

/** One budget of a user at the moment, as `GET /v1/budget` reports it. Amounts are in the unit of the options. */
export interface BudgetState {
  /** The requests that count together. */
  readonly by: BudgetBy;
  /** The most that can be spent in one window. */
  readonly limit: number;
  /** The amount of all settled requests in this window. */
  readonly spent: number;
  /** The amount held for requests that are not settled yet. */
  readonly reserved: number;
  /** The amount that the next request can reserve, 0 or more. */
  readonly remaining: number;
  /** The end of the window, in milliseconds since 1970. */
  readonly resetsAt: number;
}

/** One budget, for its operator. All of it concerns the present window alone. */
export interface BudgetLedger {
  read(): Promise<BudgetState>;
  /** Adds to the limit until the window ends. A permanent raise belongs into `limits`. */
  raise(amount: number): Promise<BudgetState>;
  /** Forgets what was spent, and each raise. Reservations of requests under way stay. */
  reset(): Promise<BudgetState>;
}

/** A {@link Meter} with access to each of its budgets. */
export interface BudgetMeter<Env = unknown> extends Meter<Env> {
  /** Reads the user's own budgets, as `GET /v1/budget` does. */
  read(reader: BudgetReader<Env>): Promise<readonly BudgetState[]>;
  /**
   * Opens one budget, to read or change it. It can raise limits: call it only behind a sign-in of your operators, never
   * for users.
   *
   * @throws {TypeError} when `limits` has none of this kind
   */
  ledger(by: BudgetBy, reader: BudgetReader<Env>): BudgetLedger;
}

/** All kinds, the narrow ones first: a user without budget reserves nothing of a shared one. */
const KINDS: readonly BudgetBy[] = ["user", "session", "address", "all"];

/**
 * Creates a meter whose budgets are Durable Objects, one for each user, session and address. The most that a request can
 * cost is reserved before the request is sent, so that requests at the same time can't spend the same money. A
 * reservation that is never settled, because the Worker or a ledger failed, stays spent until the window ends.
 *
 * @throws {TypeError} when `windowMs` is no whole number from 1 up, or `limits` has none or a wrong one
 * @example
 * ```ts
 * export { Budget } from "@sluice/worker-proxy/durable";
 * const meter = budget<Env>({
 *   namespace: (env) => env.BUDGET,
 *   limits: { user: 200_000, address: 400_000, all: 20_000_000 }, // tokens
 *   windowMs: 24 * 60 * 60 * 1000,
 *   reserveFor: ({ body }) => Number(body?.max_tokens) || 8192, // with a cap on it: what is left out may cost more
 * });
 * export default createProxy<Env>({ ...options, meter });
 * ```
 */
export function budget<Env = unknown>(options: BudgetOptions<Env>): BudgetMeter<Env> {
  const { namespace, limits, windowMs, reserveFor, cost = totalTokens } = options;
  if (!Number.isSafeInteger(windowMs) || windowMs < 1)
    throw new TypeError("windowMs: give a whole number from 1 up");
  const kinds = checkedKinds(limits);
  const bound = (env: Env) => readBinding("budget", namespace, env);
  const serve = async ({ env, user }: Admitted<Env>) =>
    Response.json({ budgets: await decided("meter", "budget_unavailable", () => read({ env, user })) });
  const routes = [{ name: "budget", method: "GET", path: "/v1/budget", id: "own", serve }] as const;
  return { reserve, read, ledger, routes, checks: [bound] };

  async function reserve(payable: Payable<Env>): Promise<Reservation | { readonly retryAfterMs: number }> {
    const id = crypto.randomUUID();
    const reserved = amountOf(reserveFor(payable) * answersIn(payable), "reserveFor");
    const senders: SendEntry[] = [];
    const settleFor = async (amount: number) => {
      // a second try, because objects restart; an entry that is settled twice counts once
      const settle = (send: SendEntry) => send({ do: "settle", id, amount });
      await Promise.all(senders.map((send) => settle(send).catch(() => settle(send))));
    };
    try {
      for (const by of kinds) {
        const send = await ledgerOf(by, payable);
        senders.push(send);
        const limit = limitOf(by, payable);
        const { retryAfterMs } = await send({ do: "reserve", id, amount: reserved, limit });
        if (retryAfterMs === undefined) continue;
        await settleFor(0);
        return { retryAfterMs };
      }
    } catch (error) {
      // also the one that failed: it may have reserved before it did
      await settleFor(0).catch(() => {});
      throw error;
    }
    return {
      settle: (usage) => settleFor(costOf(usage, payable) ?? reserved),
      release: () => settleFor(0),
    };
  }

  /** Reads the user's own budgets alone: those of an address and of all would show what others spend. */
  function read(reader: BudgetReader<Env>): Promise<readonly BudgetState[]> {
    const own = kinds.filter((by) => by === "user" || by === "session");
    return Promise.all(own.map((by) => ledger(by, reader).read()));
  }

  function ledger(by: BudgetBy, reader: BudgetReader<Env>): BudgetLedger {
    if (!kinds.includes(by)) throw new TypeError(`limits: has none for ${by}`);
    return {
      read: () => change({ do: "read" }),
      raise: async (amount) => change({ do: "raise", amount: amountOf(amount, "amount") }),
      reset: () => change({ do: "reset" }),
    };

    async function change(entry: LedgerEntry): Promise<BudgetState> {
      const send = await ledgerOf(by, reader);
      const { raised, spent, reserved, resetsAt } = await send(entry);
      const limit = limitOf(by, reader) + raised;
      return { by, limit, spent, reserved, remaining: Math.max(0, limit - spent - reserved), resetsAt };
    }
  }

  async function ledgerOf(by: BudgetBy, { env, user }: BudgetReader<Env>): Promise<SendEntry> {
    const name = await hashOf(`${by}\n${keyOf[by](user)}`);
    return async (entry) => {
      // a new stub for each call: one that has failed stays broken
      const object = objectNamed(await bound(env), name);
      const body = JSON.stringify({ ...entry, windowMs } satisfies LedgerRequest);
      const response = await object.fetch(new Request("https://budget.invalid/", { method: "POST", body }));
      // a request that is not counted must not pass
      if (!response.ok) throw new Error(`the budget answered with ${response.status}`);
      return (await response.json()) as LedgerState;
    };
  }

  function limitOf(by: BudgetBy, { env, user }: BudgetReader<Env>): number {
    const limit = limits[by] as BudgetLimit<Env>;
    return amountOf(typeof limit === "function" ? limit({ env, user }) : limit, `limits.${by}`);
  }

  function costOf(usage: Usage | undefined, payable: Payable<Env>): number | undefined {
    try {
      return usage && amountOf(cost(withoutNulls(usage), payable), "cost");
    } catch {
      return undefined;
    }
  }
}

/** Sends one entry to a ledger. */
type SendEntry = (entry: LedgerEntry) => Promise<LedgerState>;

const keyOf: Record<BudgetBy, (user: User) => string> = {
  user: ({ id }) => id,
  // another user's session of the same name is another one
  session: ({ id, session = "" }) => `${session}\n${id}`,
  address: ({ address = "" }) => networkOf(address),
  all: () => "",
};

/** An IPv6 address as its network of 64 bits, which is what one customer gets; any other address as it is. */
function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+(?:\.\d+){3})$/i.exec(address);
  if (mapped || !address.includes(":")) return mapped?.[1] ?? address;
  const [before = [], after = []] = address
    .toLowerCase()
    .split("::")
    .map((part) => part.split(":").filter((group) => group !== ""));
  const zeros = Array<string>(Math.max(0, 8 - before.length - after.length)).fill("0");
  const groups = [...before, ...zeros, ...after].slice(0, 4);
  return groups.map((group) => group.replace(/^0+(?=.)/, "")).join(":");
}

function checkedKinds<Env>(limits: BudgetOptions<Env>["limits"]): readonly BudgetBy[] {
  const given = Object.entries(limits ?? {});
  const isKnown = given.every(([by]) => (KINDS as readonly string[]).includes(by));
  if (given.length === 0 || !isKnown) throw new TypeError(`limits: give some of ${KINDS.join(", ")}`);
  for (const [by, limit] of given) if (typeof limit !== "function") amountOf(limit as number, `limits.${by}`);
  return KINDS.filter((by) => limits[by] !== undefined);
}

/** @throws {TypeError} for a value that is no amount: every comparison with it would be false, and so every request paid for */
function amountOf(value: number, name: string): number {
  const amount = Math.ceil(value);
  if (!Number.isSafeInteger(amount) || amount < 0) throw new TypeError(`${name}: give a number from 0 up`);
  return amount;
}

function answersIn({ body }: Payable): number {
  const n = Number(body?.["n"]);
  return Math.max(n || 1, 1);
}

/** `Number(null)` is 0, and an answer whose cost is unknown must not be free. */
function withoutNulls(usage: Usage): Usage {
  return JSON.parse(JSON.stringify(usage), (_, value) => value ?? undefined) as Usage;
}

function totalTokens({ total_tokens: total }: Usage): number {
  return typeof total === "number" && total > 0 ? total : Number.NaN;
}
