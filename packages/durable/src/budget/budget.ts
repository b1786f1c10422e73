import type {
  AdminOperation,
  AdmittedRequest,
  Exhausted,
  Meter,
  Payable,
  Reservation,
  Usage,
  User,
  UserData,
} from "@sluice/worker-proxy";
import { readStreams } from "@sluice/worker-proxy";
import { decided, ensure, hashOf, limited, readBinding } from "@sluice/worker-proxy/internal";
import { type ObjectNamespace, objectNamed } from "../objects/object.js";
import { type AmountOptions, amountOf, amountsBy, type BudgetUnit } from "./amounts.js";
import type { LedgerEntry, LedgerRequest, LedgerState } from "./ledger.js";

/** The requests that count together: one of these, or a name of the operator's own. */
export type BudgetBy = "user" | "session" | "address" | "all" | (string & {});

/** The most that can be spent in one window, or a function that gives it. */
export type BudgetLimit<Env = unknown> = number | ((reader: BudgetReader<Env>) => number);

/** A budget with settings of its own. */
export interface BudgetRule<Env = unknown> {
  /** The most that can be spent in one window. */
  readonly limit: BudgetLimit<Env>;
  /**
   * Returns the name under which a request counts, for instance the id of a team; undefined where this budget does not
   * concern the request. A budget with a name of your own needs it; the others must not have it.
   */
  readonly by?: ((reader: BudgetReader<Env>) => string | undefined) | undefined;
  /**
   * The number of Durable Objects that share the limit, each with an equal part: one object counts some hundreds of
   * requests in a second. One of them counts a request; two others are asked where it has nothing left. So the limit is
   * never exceeded, and the first refusal may come while each object still has room for a few requests. The most that a
   * request can cost has to fit into the part of one object.
   *
   * @default 1
   */
  readonly shards?: number | undefined;
}

/**
 * Options of {@link budget}. All amounts have one unit: millionths of the currency with `prices`, otherwise tokens, or
 * the unit of your own `cost`. They are whole numbers; a fraction is rounded up.
 */
export interface BudgetOptions<Env = unknown> extends AmountOptions<Env> {
  /** The binding to `Budget`. */
  readonly namespace: (env: Env) => ObjectNamespace | undefined;
  /**
   * The most that can be spent in one window, one limit at least. A request has to fit into all that are given. They are
   * asked at the same time.
   *
   * - `user`: each user that `authenticate` knows.
   * - `session`: each `session` of a user.
   * - `address`: each network address; an IPv6 address counts as its network of 64 bits. Requests without an address
   *   count together.
   * - `all`: all requests together.
   * - any other name: the requests for which its `by` returns the same text, `{ team: { limit, by: teamOf } }`.
   */
  readonly limits: Readonly<Partial<Record<BudgetBy, BudgetLimit<Env> | BudgetRule<Env>>>>;
  /**
   * The length of a window, in milliseconds. Windows are counted from 1970 in UTC and are the same for everybody: a day
   * ends at midnight. Around the end of a window twice the limit can be spent.
   */
  readonly windowMs: number;
  /**
   * Longest time between a reservation and its settlement, in milliseconds. It has to be longer than the longest answer
   * (`limits.totalMs` of the proxy). A reservation that nobody has settled by then, because a Worker or an object was
   * lost, is spent in full, and the log of the object says so.
   *
   * @default 3_600_000
   */
  readonly holdMs?: number | undefined;
}

/** The user whose budgets are read. */
export interface BudgetReader<Env = unknown> {
  readonly env: Env;
  readonly user: User;
}

/** One budget of a user at the moment, as `GET /v1/budget` reports it. Amounts are in its `unit`. */
export interface BudgetState extends BudgetUnit {
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
  /**
   * Reads the user's own budgets, those of `user` and `session`, as `GET /v1/budget` does. Those that are shared would show
   * what others spend.
   */
  read(reader: BudgetReader<Env>): Promise<readonly BudgetState[]>;
  /**
   * Opens one budget, to read or change it. It can raise limits: call it only behind a sign-in of your operators, never
   * for users.
   *
   * @throws {TypeError} when `limits` has none of this kind
   */
  ledger(by: BudgetBy, reader: BudgetReader<Env>): BudgetLedger;
}

/** Budgets of one user. All others are shared. */
const OWN: readonly BudgetBy[] = ["user", "session"];
/** Most objects of one budget that one request asks. */
const TRIES = 3;
/** Longest time for an answer of an object, in milliseconds. */
const ANSWER_MS = 10_000;
/**
 * Creates a meter whose budgets are Durable Objects, one for each user, session, address and team. The most that a
 * request can cost is reserved before the request is sent, so that requests at the same time can't spend the same money.
 *
 * @throws {TypeError} when `windowMs` or `holdMs` is no whole number from 1 up, `limits` has none or a wrong one, a price
 *   is wrong, or neither `prices` nor `reserveFor` is given
 * @example
 * ```ts
 * export { Budget } from "@sluice/durable";
 * const meter = budget<Env>({
 *   namespace: (env) => env.BUDGET,
 *   limits: { user: 200_000, address: 400_000, all: { limit: 20_000_000, shards: 8 } }, // tokens
 *   windowMs: 24 * 60 * 60 * 1000,
 *   reserveFor: mostTokens, // with a cap on `max_tokens` in `models`
 * });
 * export default createProxy<Env>({ ...options, plugins: [meter] });
 * ```
 */
export function budget<Env = unknown>(options: BudgetOptions<Env>): BudgetMeter<Env> {
  const { namespace, windowMs, holdMs = 3_600_000 } = options;
  const { unit, mostFor, costOf } = amountsBy(options);
  for (const [name, ms] of Object.entries({ windowMs, holdMs }))
    if (!Number.isSafeInteger(ms) || ms < 1) throw new TypeError(`${name}: give a whole number from 1 up`);
  const rules = checkedRules(options.limits);
  const bound = (env: Env) => readBinding("budget", namespace, env);
  const serve = async ({ env, user }: AdmittedRequest<Env>) =>
    Response.json({ budgets: await decided("meter", "budget_unavailable", () => read({ env, user })) });
  const routes = [{ name: "budget", method: "GET", path: "/v1/budget", id: "own", serve }] as const;
  const userData: UserData<Env> = {
    name: "budgets",
    async eraseUser(env, id) {
      const names = ownOf(env, id).flatMap((rule) => namesOf(rule, { env, user: { id } }));
      await Promise.all(names.map(async (name) => senderTo(await hashOf(name), env)({ do: "erase" })));
    },
    exportUser: (env, id) =>
      Promise.all(ownOf(env, id).map(({ name }) => ledger(name, { env, user: { id } }).read())),
  };
  const operations = operationsOf(ledger);
  return {
    ...readStreams(),
    reserve,
    settleTicket,
    read,
    ledger,
    routes,
    checks: [bound],
    userData,
    operations,
  };

  /** Returns the budgets that count one user alone, under the user's own id. */
  function ownOf(env: Env, id: string): readonly Rule<Env>[] {
    return rules.filter(({ by }) => {
      try {
        return by({ env, user: { id } }) === id;
      } catch {
        return false;
      }
    });
  }

  async function reserve(payable: Payable<Env>): Promise<Reservation | Exhausted> {
    const id = crypto.randomUUID();
    const amount = mostFor(payable);
    /** The ledgers that may be asked, those of each rule in their order. */
    const texts = rules.map((rule) => shuffled(namesOf(rule, payable)).slice(0, TRIES));
    if (payable.keepTicket) {
      const all = await Promise.all(texts.flat().map(hashOf));
      await payable.keepTicket(JSON.stringify({ id, amount, ledgers: all } satisfies Ticket), amount);
    }
    /** The ledgers that were asked. One that failed may have reserved before. */
    const ledgers: string[] = [];
    const settleFor = (cost: number) => settleIn({ id, amount, ledgers }, cost, payable.env);
    let cost: number | undefined;
    const costFor = (usage: Usage | undefined) => {
      // computed once, because a usage that can't be true is logged
      cost ??= costOf(usage, payable, amount);
      return cost;
    };
    const answers = await Promise.allSettled(rules.map((rule, nth) => reserveIn(rule, texts[nth] ?? [])));
    const failed = answers.find((answer) => answer.status === "rejected");
    const refusals = answers.flatMap((answer) => (answer.status === "fulfilled" && answer.value) || []);
    // what is the user's own can be seen at `GET /v1/budget`
    const exhausted = refusals.find(({ isShared }) => !isShared) ?? refusals[0];
    if (failed || exhausted) await settleFor(0).catch(() => {});
    if (failed) throw failed.reason;
    if (exhausted) return exhausted;
    return {
      amount,
      costOf: costFor,
      ticket: JSON.stringify({ id, amount, ledgers } satisfies Ticket),
      settle: (usage) => settleFor(costFor(usage)),
      release: () => settleFor(0),
    };

    /** Reserves in one budget. Returns the refusal, if there is nothing left. */
    async function reserveIn(rule: Rule<Env>, texts: readonly string[]): Promise<Exhausted | undefined> {
      const limit = Math.floor(limitOf(rule, payable) / rule.shards);
      let refusal: Exhausted | undefined;
      for (const text of texts) {
        // a hash is made for each shard that is asked, not for all
        const name = await hashOf(text);
        ledgers.push(name);
        const send = senderTo(name, payable.env);
        const { retryAfterMs } = await send({ do: "reserve", id, amount, limit, holdMs });
        if (retryAfterMs === undefined) return undefined;
        ledgers.splice(ledgers.indexOf(name), 1);
        refusal = { retryAfterMs, budget: rule.name, isShared: !OWN.includes(rule.name) };
      }
      return refusal;
    }
  }

  function read(reader: BudgetReader<Env>): Promise<readonly BudgetState[]> {
    const own = rules.filter(({ name }) => OWN.includes(name));
    return Promise.all(own.map(({ name }) => ledger(name, reader).read()));
  }

  function ledger(by: BudgetBy, reader: BudgetReader<Env>): BudgetLedger {
    const rule = rules.find(({ name }) => name === by);
    if (!rule) throw new TypeError(`limits: has none for ${by}`);
    return {
      read: () => change(rule, { do: "read" }),
      raise: async (amount) => change(rule, { do: "raise", amount: amountOf(amount, "amount") }),
      reset: () => change(rule, { do: "reset" }),
    };

    /** Changes all objects of a budget; each has an equal part of an amount. */
    async function change(rule: Rule<Env>, entry: LedgerEntry): Promise<BudgetState> {
      const part = "amount" in entry ? { ...entry, amount: Math.ceil(entry.amount / rule.shards) } : entry;
      const ledgers = await Promise.all(namesOf(rule, reader).map(hashOf));
      if (ledgers.length === 0) throw new TypeError(`limits.${by}: \`by\` gives no name for this user`);
      const states = await Promise.all(ledgers.map((name) => senderTo(name, reader.env)(part)));
      const sum = (name: "raised" | "spent" | "reserved") =>
        states.reduce((all, state) => all + state[name], 0);
      const [spent, reserved, limit] = [sum("spent"), sum("reserved"), limitOf(rule, reader) + sum("raised")];
      const resetsAt = states[0]?.resetsAt ?? 0;
      const remaining = Math.max(0, limit - spent - reserved);
      return { by, ...unit, limit, spent, reserved, remaining, resetsAt };
    }
  }

  async function settleIn({ id, ledgers }: Ticket, amount: number, env: Env): Promise<void> {
    // a second try, because objects restart; an entry that is settled twice counts once
    const settle = (name: string) => senderTo(name, env)({ do: "settle", id, amount });
    await Promise.all(ledgers.map((name) => settle(name).catch(() => settle(name))));
  }

  async function settleTicket(text: string, spent: number | undefined, env: Env): Promise<void> {
    const ticket = JSON.parse(text) as Ticket;
    await settleIn(ticket, spent ?? ticket.amount, env);
  }

  /** Returns the names of a budget's objects before they are hashed; none where it does not concern the request. */
  function namesOf(rule: Rule<Env>, reader: BudgetReader<Env>): readonly string[] {
    const key = rule.by(reader);
    if (key === undefined) return [];
    // money is never added to tokens: another unit begins with ledgers of its own
    const text = `${unit.currency ? `${unit.currency} ` : ""}${rule.name}\n${key}`;
    return Array.from({ length: rule.shards }, (_, shard) => (shard === 0 ? text : `${text}\n${shard}`));
  }

  function senderTo(name: string, env: Env): SendEntry {
    return async (entry) => {
      // a new stub for each call: one that has failed stays broken
      const object = objectNamed(await bound(env), name);
      const body = JSON.stringify({ ...entry, windowMs } satisfies LedgerRequest);
      return await limited(ANSWER_MS, async (signal) => {
        const response = await object.fetch(
          new Request("https://budget.invalid/", { method: "POST", body, signal }),
        );
        // a request that is not counted must not pass
        if (!response.ok) throw new Error(`the budget answered with ${response.status}`);
        return (await response.json()) as LedgerState;
      });
    };
  }

  function limitOf({ name, limit }: Rule<Env>, { env, user }: BudgetReader<Env>): number {
    return amountOf(typeof limit === "function" ? limit({ env, user }) : limit, `limits.${name}`);
  }
}

/** The operations on one budget; each answers with its state. */
function operationsOf<Env>(ledger: BudgetMeter<Env>["ledger"]): readonly AdminOperation<Env>[] {
  /** Opens the budget that the operator names, by the same facts that a request has. */
  const opened = (env: Env, { by, user, session, address }: Readonly<Record<string, unknown>>) => {
    const isText = (value: unknown) => typeof value === "string" && value !== "";
    ensure(isText(by), "by: give the name of a budget, user");
    const needed =
      by === "all" ? [] : by === "address" ? { address } : { user, ...(by === "session" && { session }) };
    for (const [name, value] of Object.entries(needed)) ensure(isText(value), `${name}: give a text`);
    const known = {
      ...(isText(session) && { session }),
      ...(isText(address) && { address }),
    } as Partial<User>;
    return ledger(by as string, { env, user: { id: isText(user) ? (user as string) : "", ...known } });
  };
  return [
    { name: "budgets/read", run: async (env, asked) => opened(env, asked).read() },
    { name: "budgets/raise", run: async (env, asked) => opened(env, asked).raise(asked["amount"] as number) },
    { name: "budgets/reset", run: async (env, asked) => opened(env, asked).reset() },
  ];
}

/** A budget, with its defaults. */
interface Rule<Env> {
  readonly name: BudgetBy;
  readonly limit: BudgetLimit<Env>;
  readonly by: (reader: BudgetReader<Env>) => string | undefined;
  readonly shards: number;
}

/** A reservation as it is stored: an amount in some ledgers. */
interface Ticket {
  readonly id: string;
  readonly amount: number;
  readonly ledgers: readonly string[];
}

/** Sends one entry to a ledger. */
type SendEntry = (entry: LedgerEntry) => Promise<LedgerState>;

const keys: Readonly<Record<string, (user: User) => string>> = {
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

function checkedRules<Env>(limits: BudgetOptions<Env>["limits"]): readonly Rule<Env>[] {
  const rules = Object.entries(limits ?? {}).map(([name, given]) => {
    const {
      limit,
      by,
      shards = 1,
    } = typeof given === "object" ? given : ({ limit: given } as BudgetRule<Env>);
    const known = Object.hasOwn(keys, name) ? keys[name] : undefined;
    if (known && by) throw new TypeError(`limits.${name}: has a name of its own; give \`by\` to another one`);
    if (!known && typeof by !== "function")
      throw new TypeError(
        `limits.${name}: give one of ${Object.keys(keys).join(", ")}, or \`by\`, which names its requests`,
      );
    if (!Number.isSafeInteger(shards) || shards < 1)
      throw new TypeError(`limits.${name}.shards: give a whole number from 1 up`);
    if (typeof limit !== "function") amountOf(limit, `limits.${name}`);
    return { name, limit, shards, by: by ?? (({ user }: BudgetReader<Env>) => known?.(user)) };
  });
  if (rules.length === 0) throw new TypeError(`limits: give some of ${Object.keys(keys).join(", ")}`);
  return rules;
}

function shuffled<Thing>(things: readonly Thing[]): readonly Thing[] {
  if (things.length < 2) return things;
  const from = Math.floor(Math.random() * things.length);
  return [...things.slice(from), ...things.slice(0, from)];
}
