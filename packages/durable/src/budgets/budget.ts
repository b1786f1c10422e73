import { type ProxyPlugin, readStreams } from "@sluice/worker-proxy";
import {
  type AdmittedRequest,
  type BoundHost,
  type Exhausted,
  ensure,
  type Payable,
  Refusal,
  type Reservation,
  type Usage,
} from "@sluice/worker-proxy/plugin";
import { checkMilliseconds, checkNames } from "../shared/check-options.js";
import { connectOnce } from "../shared/connect-once.js";
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
 * Options of {@link budget}. All amounts have one unit: millionths of the currency with `prices`, the unit of a custom
 * `cost`, otherwise tokens. Amounts are whole numbers; fractions are rounded up.
 */
export interface BudgetOptions<Env = unknown> extends AmountOptions<Env> {
  /**
   * The maximum amounts for one window; give at least one limit. A request must fit into every limit that applies to
   * it.
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
   * Length of a window in milliseconds. Windows are aligned to 1970 in UTC and are the same for all users: a day ends
   * at midnight UTC. Requests just before and just after the end of a window can together spend twice the limit.
   */
  readonly windowMs: number;
  /**
   * Maximum time between a reservation and its settlement, in milliseconds: at least `timeout.totalMs` of the proxy,
   * the maximum time of a response. If the process ends before the settlement, the reservation is spent in full after
   * this time, and the log reports it.
   *
   * @default 3_600_000
   */
  readonly reservationTtlMs?: number | undefined;
}

/** A plugin that limits spending. Its methods are for operators: never let a user's request call them. */
export interface Budget<Env = unknown> extends ProxyPlugin<Env> {
  reserve(payable: Payable<Env>): Promise<Reservation | Exhausted>;
  /**
   * Reads one limit of a user.
   *
   * @throws {TypeError} if `limits` lacks this name, or its `by` returns undefined for this user
   */
  read(limit: string, reader: BudgetReader<Env>): Promise<BudgetState>;
  /**
   * Raises a limit by an amount until its window ends. For a permanent raise, change `limits`.
   *
   * @throws {TypeError} as {@link Budget.read}, and unless the amount is a number from 0 up
   */
  raise(limit: string, reader: BudgetReader<Env>, amount: number): Promise<BudgetState>;
  /**
   * Resets the spent amount of this window to 0 and removes all raises. Reservations of running requests stay.
   *
   * @throws {TypeError} as {@link Budget.read}
   */
  reset(limit: string, reader: BudgetReader<Env>): Promise<BudgetState>;
}

const OPTIONS = ["limits", "windowMs", "reservationTtlMs", "prices", "reserve", "cost"];

/**
 * Creates a plugin that limits the spending of users, of teams and in total. It reserves the maximum cost of a request
 * before the request is sent, so that concurrent requests can't spend the same money. Users read their limits at
 * `GET /v1/budget`. The plugin includes `readStreams()`.
 *
 * @throws {TypeError} for a missing, unknown or invalid option; the message names the option and a valid value.
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
  const { connect, getServer } = connectOnce<Env>("budget");
  const getHost = (env: Env): BoundHost => getServer().host(env);
  const access = openLimits(getHost, settings, unit);
  const serve = async ({ env, user }: AdmittedRequest<Env>) =>
    Response.json({
      budgets: await access.readOwn({ env, user }).catch((cause: unknown) => {
        throw new Refusal("budget_unavailable", { problem: "budget: its limits could not be read", cause });
      }),
    });
  const plugin: Budget<Env> = {
    ...readStreams(),
    storage,
    connect(server) {
      connect(server);
      const { totalMs } = server.timeout;
      ensure(
        reservationTtlMs >= totalMs,
        `reservationTtlMs: a response may take ${totalMs} ms (timeout.totalMs); give more, or it is spent in full`,
      );
    },
    routes: [{ name: "budget", method: "GET", path: "/v1/budget", id: "own", serve }],
    async reserve(payable) {
      const host = getHost(payable.env);
      const plan = await planReservation(settings, payable, estimate(payable));
      // stored before the reservation, so that a crash leaves a ticket to settle
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
      // calculated once, because `charge` logs an implausible cost each time
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
