import type { Payable, Usage } from "@sluice/worker-proxy";
import { logError } from "@sluice/worker-proxy/internal";
import type { MoneyPrices } from "./in-money.js";

/** Options about what a request costs. */
export interface AmountOptions<Env> {
  /**
   * Prices of the models, read by {@link inMoney}. They make it a budget in money: a request reserves the most that it can
   * cost by them, and its `usage` decides what is spent. Amounts are millionths of the currency: a limit of 5 EUR is
   * `5_000_000`.
   *
   * @default amounts are tokens
   */
  readonly prices?: MoneyPrices | undefined;
  /**
   * The most that the request can cost for one answer; a request with `n` reserves `n` times as much. A request that
   * costs more is spent in full, up to ten times what was reserved, and may pass the limit. {@link mostTokens} gives a
   * bound in tokens.
   *
   * With `prices` it is called for requests whose cost they can't tell: uploads, models without a price, a sequence of
   * images without `max_images`.
   *
   * @default with `prices` such a request is refused, and the log names its model; without them it is required
   */
  readonly reserveFor?: ((payable: Payable<Env>) => number) | undefined;
  /**
   * The cost of an answer. Fields of `usage` that are null are left out. Where the function throws or gives no number,
   * all that was reserved is spent. Answers without `usage`, such as those about videos, are spent in full without it.
   *
   * @default by `prices`; without them `usage.total_tokens` where it is more than 0
   */
  readonly cost?: (usage: Usage, payable: Payable<Env>) => number;
}

/** The unit of amounts. */
export interface BudgetUnit {
  /** `millionths`: of the `currency`. `tokens`: of requests and answers. `own`: the unit of the operator's `cost`. */
  readonly unit: "millionths" | "tokens" | "own";
  /** Currency of `prices`; absent from a budget that is not in money. */
  readonly currency?: string;
}

/** Amounts of requests, in one unit. */
export interface Amounts<Env> {
  readonly unit: BudgetUnit;
  /** Returns the most that a request can cost. */
  mostFor(payable: Payable<Env>): number;
  /** Returns the cost of an answer: all that was reserved, where `usage` does not tell it. */
  costOf(usage: Usage | undefined, payable: Payable<Env>, reserved: number): number;
}

/** Most times that a cost may exceed what was reserved: more is a mistake of the gateway, or of `reserveFor`. */
const MOST_TIMES = 10;

/** @throws {TypeError} where there are neither prices nor `reserveFor` */
export function amountsBy<Env>({ prices, reserveFor, ...options }: AmountOptions<Env>): Amounts<Env> {
  if (!prices && !reserveFor) throw new TypeError("reserveFor: give it, mostTokens, or give `prices`");
  const cost = options.cost ?? prices?.cost ?? totalTokens;
  const own = { unit: options.cost ? "own" : "tokens" } as const;
  return { unit: prices ? { unit: "millionths", currency: prices.currency } : own, mostFor, costOf };

  function mostFor(payable: Payable<Env>): number {
    const most = prices?.most(payable);
    if (most !== undefined) return amountOf(most, "prices");
    if (reserveFor) return amountOf(reserveFor(payable) * answersIn(payable), "reserveFor");
    const { model, route } = payable;
    throw new TypeError(`prices: tell no bound for ${model ?? route}; add its price, or give \`reserveFor\``);
  }

  function costOf(usage: Usage | undefined, payable: Payable<Env>, reserved: number): number {
    let spent: number;
    try {
      if (!usage) return reserved;
      spent = amountOf(cost(withoutNulls(usage), payable), "cost");
    } catch {
      return reserved;
    }
    const most = reserved * MOST_TIMES;
    if (spent <= most) return spent;
    const { user, model = payable.route } = payable;
    logError(
      `budget: ${model} cost user ${user.id} ${spent}, and ${reserved} were reserved; ${most} are counted`,
    );
    return most;
  }
}

/**
 * @throws {TypeError} for a value that is no amount: comparisons with it would be false, and no request would be
 *   refused
 */
export function amountOf(value: number, name: string): number {
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
