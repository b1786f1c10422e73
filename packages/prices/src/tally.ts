import { readAmount, writeAmount } from "./money.js";
import type { ModelPrices, Rates, RateTable } from "./prices.js";

/**
 * Why a cost is not known.
 *
 * - `unknown-model`: the table has no prices of the model
 * - `no-price`: the model's prices have none for this, such as for its size or its resolution
 * - `no-usage`: the gateway did not report what it is billed by. In an estimate: it is known afterwards only
 * - `no-limit`: estimates only. The request may cost any amount, because it has no limit
 * - `not-ended`: the answer or the task is in flight, or a task failed and nothing says if it is billed
 */
export type MissingReason = "unknown-model" | "no-price" | "no-usage" | "no-limit" | "not-ended";

/** Things whose cost is not known. */
export interface MissingCost {
  /** Why it is not known. */
  readonly reason: MissingReason;
  /** Model of the things; absent where it is not known. */
  readonly model?: string;
  /** Number of things. */
  readonly count: number;
}

/** An amount of money. Plain JSON. */
export interface Cost {
  /**
   * Sum of all costs that are known, in the currency; exact up to 15 digits. `calculateCost([a, b], prices)` adds costs without
   * the errors of fractions, unlike `+`.
   */
  readonly amount: number;
  /** Currency, as in the table. */
  readonly currency: string;
  /** Things that are not in `amount`, because their cost is not known. Empty where `amount` is the whole cost. */
  readonly missing: readonly MissingCost[];
}

/** An exact cost, or why it is not known. */
export type Known = bigint | MissingReason;

/** A sum of costs. */
export interface Tally {
  readonly table: RateTable;
  /** Adds the cost of one thing of a model. `count` gets the prices of the model. */
  add(model: string | undefined, count: (rates: Rates) => Known): void;
  /** Adds one thing whose cost is not known. */
  miss(reason: MissingReason, model: string | undefined, count?: number): void;
  /** Adds a cost. */
  addCost(cost: Cost): void;
  cost(): Cost;
}

/** Creates a sum of costs in the currency of a table. */
export function createTally(table: RateTable): Tally {
  let sum = 0n;
  const missing = new Map<string, MissingCost>();
  return { table, add, miss, addCost, cost };

  function add(model: string | undefined, count: (rates: Rates) => Known): void {
    const rates = table.models.get(model ?? "");
    const known = rates ? count(rates) : "unknown-model";
    if (typeof known === "bigint") sum += known;
    else miss(known, model);
  }

  function miss(reason: MissingReason, model: string | undefined, count = 1): void {
    const key = `${reason}\n${model ?? ""}`;
    const before = missing.get(key)?.count ?? 0;
    missing.set(key, { reason, ...(model !== undefined && { model }), count: before + count });
  }

  function addCost({ amount, currency, missing }: Cost): void {
    if (currency !== table.currency)
      throw new TypeError(`calculateCost: adds ${currency} to ${table.currency}; give costs of one currency`);
    const exact = readAmount(amount);
    if (exact === undefined) throw new TypeError("calculateCost: an amount is no number from 0 up");
    sum += exact;
    for (const { reason, model, count } of missing) miss(reason, model, count);
  }

  function cost(): Cost {
    return { amount: writeAmount(sum), currency: table.currency, missing: [...missing.values()] };
  }
}

/**
 * Finds a price of a model.
 *
 * @param size the size or resolution; undefined where it is not known
 */
export function rateOf(rates: Rates, field: keyof ModelPrices, size: string | undefined): Known {
  const rate = rates[field];
  if (rate === undefined) return "no-price";
  if (typeof rate === "bigint") return rate;
  if (size !== undefined) return rate.get(size.toLowerCase()) ?? "no-price";
  const [first = 0n, ...others] = new Set(rate.values());
  return others.length === 0 ? first : "no-usage";
}
