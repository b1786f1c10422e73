import { ensure, logError, type Payable, type Usage } from "@sluice/worker-proxy/plugin";
import { maxTokens } from "./max-tokens.js";
import type { Money } from "./money.js";

/*
 * Amounts are whole numbers, because a database stores only whole numbers exactly. The unit is tokens, or with `prices`
 * millionths of the currency (1 EUR is 1,000,000). Fractions are rounded up in favor of the operator, who pays the
 * gateway.
 */

/** Options for the cost of a request. */
export interface AmountOptions<Env> {
  /**
   * Prices of the models: `money(…)`. Amounts are then millionths of the currency: a limit of 5 EUR is `5_000_000`.
   *
   * @default amounts are tokens
   */
  readonly prices?: Money | undefined;
  /**
   * Returns the maximum cost of one response to the request. A request with `n` reserves `n` times as much. If the
   * actual cost is higher, all of it is spent, up to ten times the reserved amount, and the limit may be exceeded.
   *
   * With `prices` the function is called only for requests whose cost the prices do not bound: uploads, models without
   * a price, a sequence of images without `max_images`.
   *
   * @default `maxTokens()`. With `prices` the request is refused, and the log names its model. With a custom `cost`
   *   this option is required, in the unit of `cost`
   */
  readonly reserve?: ((payable: Payable<Env>) => number) | undefined;
  /**
   * Returns the cost of a response. Null fields of `usage` are omitted. The whole reservation is spent if the
   * function throws or returns anything but a number from 0 up, and for responses without `usage` (e.g. of videos).
   *
   * @default by `prices`; without them `usage.total_tokens`
   */
  readonly cost?: ((usage: Usage, payable: Payable<Env>) => number) | undefined;
}

/** The unit of amounts. */
export interface BudgetUnit {
  /** `millionths`: of the `currency`. `tokens`: of requests and responses. `own`: the unit of your `cost`. */
  readonly unit: "millionths" | "tokens" | "own";
  /** Currency of `prices`; absent if the budget is not in money. */
  readonly currency?: string;
}

/** Amounts of requests, in one unit. */
export interface Amounts<Env> {
  readonly unit: BudgetUnit;
  /** Returns the maximum cost of a request. */
  estimate(payable: Payable<Env>): number;
  /** Returns the cost of a response: the reserved amount if `usage` does not determine the cost. */
  charge(usage: Usage | undefined, payable: Payable<Env>, reserved: number): number;
}

/** Maximum ratio of the cost to the reserved amount. A higher cost is a mistake of the gateway or of `reserve`. */
const MAX_TIMES = 10;

/** @throws {TypeError} for an invalid option, and for `cost` with neither `reserve` nor `prices` */
export function createAmounts<Env>(options: AmountOptions<Env>): Amounts<Env> {
  for (const name of ["reserve", "cost"] as const)
    ensure(
      options[name] === undefined || typeof options[name] === "function",
      `${name}: give a function of the request`,
    );
  const { prices } = options;
  ensure(!prices || typeof prices.estimate === "function", "prices: give money(…) of your table");
  ensure(
    prices || !options.cost || options.reserve,
    "reserve: `cost` needs it, in the same unit; maxTokens() for tokens",
  );
  const reserve = options.reserve ?? (prices ? undefined : maxTokens());
  const cost = options.cost ?? prices?.calculate ?? totalTokens;
  const own = { unit: options.cost ? "own" : "tokens" } as const;
  return { unit: prices ? { unit: "millionths", currency: prices.currency } : own, estimate, charge };

  function estimate(payable: Payable<Env>): number {
    const bound = prices?.estimate(payable);
    if (bound !== undefined) return checkAmount(bound, "prices");
    if (reserve) return checkAmount(reserve(payable) * countResponses(payable), "reserve");
    const { model, route } = payable;
    throw new TypeError(`prices: do not bound ${model ?? route}; add its price, or give \`reserve\``);
  }

  function charge(usage: Usage | undefined, payable: Payable<Env>, reserved: number): number {
    if (!usage) return reserved;
    let given: number;
    try {
      given = cost(withoutNulls(usage), payable);
    } catch (error) {
      logError(`budget: cost failed, and all that was reserved is spent: ${String(error)}`);
      return reserved;
    }
    const spent = toAmount(given);
    if (spent === undefined) return reserved;
    const max = Math.min(reserved * MAX_TIMES, Number.MAX_SAFE_INTEGER);
    if (spent <= max) return spent;
    const { user, model = payable.route } = payable;
    logError(
      `budget: ${model} cost user ${user.id} ${spent}, and ${reserved} were reserved; ${max} are counted`,
    );
    return max;
  }
}

/**
 * Rounds an amount up to a whole number.
 *
 * @throws {TypeError} unless the value is a number from 0 up: comparisons with NaN are false and would refuse nothing
 */
export function checkAmount(value: number, name: string): number {
  const amount = toAmount(value);
  ensure(amount !== undefined, `${name}: give a number from 0 up`);
  return amount;
}

function toAmount(value: unknown): number | undefined {
  const amount = typeof value === "number" ? Math.ceil(value) : Number.NaN;
  return Number.isSafeInteger(amount) && amount >= 0 ? amount : undefined;
}

function countResponses({ body }: Payable): number {
  const n = Number(body?.["n"]);
  return Math.max(n || 1, 1);
}

/** Removes nulls: `Number(null)` is 0, and a response of unknown cost must not be free. */
function withoutNulls(usage: Usage): Usage {
  return JSON.parse(JSON.stringify(usage), (_, value) => value ?? undefined) as Usage;
}

function totalTokens({ total_tokens: total }: Usage): number {
  return typeof total === "number" && total > 0 ? total : Number.NaN;
}
