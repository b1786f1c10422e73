import { readAmount, writeAmount } from "./money.js";
import type { ModelPrices, Rates, RateTable } from "./prices.js";

/**
 * Reason why a cost is unknown.
 *
 * - `unknown-model`: the table lacks the model
 * - `no-price`: the model lacks a price for this usage, for example for a size or a resolution
 * - `no-usage`: the gateway did not report the billed quantity. In an estimate: the quantity is only known afterwards
 * - `no-limit`: only in estimates. The request and its cost are unlimited
 * - `not-ended`: the response or the task is in flight, or a task failed and may be billed
 */
export type MissingReason = "unknown-model" | "no-price" | "no-usage" | "no-limit" | "not-ended";

/** Items with an unknown cost. */
export interface MissingCost {
  /** Reason why the cost is unknown. */
  readonly reason: MissingReason;
  /** Model of the items; absent if unknown. */
  readonly model?: string;
  /** Number of items. */
  readonly count: number;
}

/** An amount of money. Plain JSON. */
export interface Cost {
  /**
   * Sum of all known costs, in the currency; exact up to 15 digits. `calculateCost([a, b], prices)` adds costs without
   * rounding errors, unlike `+`.
   */
  readonly amount: number;
  /** Currency, as in the table. */
  readonly currency: string;
  /** Items with an unknown cost, which are not in `amount`. Empty if `amount` is the whole cost. */
  readonly missing: readonly MissingCost[];
}

/** An exact cost, or the reason why it is unknown. */
export type CostOrReason = bigint | MissingReason;

/** A sum of costs. */
export interface Tally {
  readonly table: RateTable;
  /** Adds the cost that `calculate` returns for the prices of a model. */
  add(model: string | undefined, calculate: (rates: Rates) => CostOrReason): void;
  /** Adds items with an unknown cost. */
  addMissing(reason: MissingReason, model: string | undefined, count?: number): void;
  /** Adds a cost. */
  addCost(cost: Cost): void;
  cost(): Cost;
}

/** Creates a sum of costs in the currency of a table. */
export function createTally(table: RateTable): Tally {
  let sum = 0n;
  const missing = new Map<string, MissingCost>();
  return { table, add, addMissing, addCost, cost };

  function add(model: string | undefined, calculate: (rates: Rates) => CostOrReason): void {
    const rates = table.models.get(model ?? "");
    const cost = rates ? calculate(rates) : "unknown-model";
    if (typeof cost === "bigint") sum += cost;
    else addMissing(cost, model);
  }

  function addMissing(reason: MissingReason, model: string | undefined, count = 1): void {
    const key = `${reason}\n${model ?? ""}`;
    const before = missing.get(key)?.count ?? 0;
    missing.set(key, { reason, ...(model !== undefined && { model }), count: before + count });
  }

  function addCost({ amount, currency, missing }: Cost): void {
    if (currency !== table.currency)
      throw new TypeError(`calculateCost: adds ${currency} to ${table.currency}; give costs of one currency`);
    const exact = readAmount(amount);
    if (exact === undefined) throw new TypeError("calculateCost: an amount is not a number from 0 up");
    sum += exact;
    for (const { reason, model, count } of missing) addMissing(reason, model, count);
  }

  function cost(): Cost {
    return { amount: writeAmount(sum), currency: table.currency, missing: [...missing.values()] };
  }
}

/**
 * Finds a price of a model.
 *
 * @param size the size or resolution; undefined if unknown
 */
export function findRate(rates: Rates, field: keyof ModelPrices, size: string | undefined): CostOrReason {
  const rate = rates[field];
  if (rate === undefined) return "no-price";
  if (typeof rate === "bigint") return rate;
  if (size !== undefined) return rate.get(size.toLowerCase()) ?? "no-price";
  const [first = 0n, ...others] = new Set(rate.values());
  return others.length === 0 ? first : "no-usage";
}
