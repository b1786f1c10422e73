import {
  type AdmittedRequest,
  type BoundHost,
  type Exhausted,
  type Meter,
  type Payable,
  type PluginServer,
  type Reservation,
  readStreams,
  type Usage,
} from "@sluice/worker-proxy";
import { decide, ensure } from "@sluice/worker-proxy/plugin";
import { checkMilliseconds, checkNames } from "../shared/check-options.js";
import { type AmountOptions, createAmounts } from "./amounts.js";
import { offerJobBudget } from "./job-budget.js";
import { type BudgetState, createOperations, openLimits } from "./limit-access.js";
import { type BudgetLimits, type BudgetReader, checkLimits } from "./limits.js";
import { storage } from "./operations.js";
import {
  createTicket,
  type Plan,
  planReservation,
  type ReserveOptions,
  reserveAll,
  settleTicket,
  type Ticket,
} from "./reservations.js";
import { createUserData } from "./user-data.js";

/**
 * Options of {@link budget}. All amounts have one unit: millionths of the currency with `prices`, otherwise tokens, or
 * the unit of your own `cost`. They are whole numbers; a fraction is rounded up.
 */
export interface BudgetOptions<Env = unknown> extends AmountOptions<Env> {
  /**
   * The most that can be spent in one window, at least one limit. A request has to fit into all that apply to it.
   *
   * - `user`: each user that `authenticate` returns.
   * - `session`: each `session` of a user.
   * - `address`: each network address; an IPv6 address counts as its network of 64 bits. Requests without an address
   *   count together.
   * - `all`: all requests together.
   * - any other name: the requests for which its `by` returns the same text, `{ team: { limit, by: readTeam } }`.
   *
   * A limit is a number, a function of `{ env, user }`, or `{ limit, by, shards }`.
   */
  readonly limits: BudgetLimits<Env>;
  /**
   * Length of a window in milliseconds. Windows are counted from 1970 in UTC and are the same for everybody: a day ends at
   * midnight. Around the end of a window twice the limit can be spent.
   */
  readonly windowMs: number;
  /**
   * Longest time between a reservation and its settlement, in milliseconds: at least `timeout.totalMs` of the proxy, the
   * longest time of a response. A reservation that was not settled by then, because its process ended, is spent in
   * full, and the log says so.
   *
   * @default 3_600_000
   */
  readonly reservationTtlMs?: number | undefined;
}

/** A plugin that bounds what users spend. Its verbs are for operators: never let a user's request call them. */
export interface Budget<Env = unknown> extends Meter<Env> {
  /**
   * Reads one limit of a user.
   *
   * @throws {TypeError} if `limits` has none of this name, or its `by` returns nothing for this user
   */
  read(limit: string, reader: BudgetReader<Env>): Promise<BudgetState>;
  /**
   * Adds an amount to a limit until its window ends. A permanent raise belongs into `limits`.
   *
   * @throws {TypeError} as {@link Budget.read}, and if the amount is no number from 0 up
   */
  raise(limit: string, reader: BudgetReader<Env>, amount: number): Promise<BudgetState>;
  /**
   * Forgets what was spent in this window, and each raise. Reservations of requests under way stay.
   *
   * @throws {TypeError} as {@link Budget.read}
   */
  reset(limit: string, reader: BudgetReader<Env>): Promise<BudgetState>;
}

const OPTIONS = ["limits", "windowMs", "reservationTtlMs", "prices", "reserve", "cost"];

/**
 * Creates a plugin that bounds what users, teams and all together spend. The most that a request can cost is reserved before
 * it is sent, so that requests at the same time can't spend the same money. Users read their limits at `GET /v1/budget`.
 * It reads each stream, so the proxy needs no `readStreams()`.
 *
 * @throws {TypeError} for an option that is missing, unknown or wrong; the message names it and says what to give.
 *   `createProxy` throws for a `reservationTtlMs` below its `timeout.totalMs`
 * @example
 * ```ts
 * export default createProxy<Env>({
 *   ...options,
 *   limits: { maxTokens: 8192 },
 *   host: nodeHost({ file: "sluice.db" }),
 *   plugins: [budget({ limits: { user: 200_000, all: { limit: 20_000_000, shards: 8 } }, windowMs: 86_400_000 })],
 * });
 * ```
 */
export function budget<Env = unknown>(options: BudgetOptions<Env>): Budget<Env> {
  ensure(options, "budget: give its options, { limits: { user: 200_000 }, windowMs: 86_400_000 }");
  checkNames("budget", options, OPTIONS);
  const { windowMs, reservationTtlMs = 3_600_000 } = options;
  for (const [name, ms] of Object.entries({ windowMs, reservationTtlMs })) checkMilliseconds(name, ms);
  const rules = checkLimits(options.limits);
  const { unit, estimate, charge } = createAmounts(options);
  const settings: ReserveOptions<Env> = { rules, currency: unit.currency, windowMs, reservationTtlMs };
  let server: PluginServer<Env> | undefined;
  const getHost = (env: Env): BoundHost => {
    ensure(server, "budget: is in no proxy; give it to createProxy({ plugins })");
    return server.host(env);
  };
  const access = openLimits(getHost, settings, unit);
  const serve = async ({ env, user }: AdmittedRequest<Env>) =>
    Response.json({
      budgets: await decide("meter", "budget_unavailable", () => access.readOwn({ env, user })),
    });
  const plugin: Budget<Env> = {
    ...readStreams(),
    storage,
    connect(given) {
      ensure(!server, "budget: belongs to one proxy; make another one");
      const { totalMs } = given.timeout;
      ensure(
        reservationTtlMs >= totalMs,
        `reservationTtlMs: a response may take ${totalMs} ms (timeout.totalMs); give more, or it is spent in full`,
      );
      server = given;
    },
    routes: [{ name: "budget", method: "GET", path: "/v1/budget", id: "own", serve }],
    async reserve(payable) {
      const host = getHost(payable.env);
      const plan = await planReservation(settings, payable, estimate(payable));
      // stored before anything is reserved
      await payable.keepTicket?.(JSON.stringify(createTicket(plan)), plan.amount);
      return await open(host, plan, payable, plan.own ? [[plan.own], ...plan.shared] : plan.shared);
    },
    settleTicket: async (ticket, spent, env) => {
      const stored = JSON.parse(ticket) as Ticket;
      await settleTicket(getHost(env), stored, spent ?? stored.amount);
    },
    read: access.read,
    raise: access.raise,
    reset: access.reset,
    operations: createOperations(access),
    userData: createUserData(getHost, settings, access),
  };
  offerJobBudget(plugin, {
    plan: async (payable) => planReservation(settings, payable, estimate(payable)),
    reserveShared: (host, plan, payable) => open(host, plan, payable, plan.shared),
  });
  return plugin;

  async function open(
    host: BoundHost,
    plan: Plan,
    payable: Payable<Env>,
    lists: Plan["shared"],
  ): Promise<Reservation | Exhausted> {
    const ticket = await reserveAll(host, plan, lists);
    if ("retryAfterMs" in ticket) return ticket;
    const { amount } = plan;
    let cost: number | undefined;
    const calculateCost = (usage: Usage | undefined) => {
      // calculated once, because usage that can't be true is logged
      cost ??= charge(usage, payable, amount);
      return cost;
    };
    return {
      amount,
      calculateCost,
      ticket: JSON.stringify(ticket),
      settle: (usage) => settleTicket(host, ticket, calculateCost(usage)),
      release: () => settleTicket(host, ticket, 0),
    };
  }
}
