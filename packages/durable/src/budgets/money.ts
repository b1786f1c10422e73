import { type Cost, calculateCost, definePrices, estimateCost, type Prices } from "@sluice/prices";
import type { Payable, Usage } from "@sluice/worker-proxy/plugin";

/**
 * Prices of models, as `definePrices` of `@sluice/prices` returns them. A page and its proxy may share the table.
 */
export interface PriceTable {
  /** Currency of all prices, `"EUR"`. */
  readonly currency: string;
  /** Prices by the id of the model: `{ "delta-5.3": { input: 0.5, output: 2 } }`, for a million tokens. */
  readonly models: { readonly [model: string]: object };
}

/** Calculates costs by your prices: the return value of {@link money}. Amounts are millionths of the currency. */
export interface Money {
  readonly currency: string;
  /** Returns the maximum cost of a request; undefined if the table does not bound it. */
  estimate(payable: Payable): number | undefined;
  /** Returns the cost of a response; `NaN` if the table does not determine it. */
  calculate(usage: Usage, payable: Payable): number;
}

/**
 * Creates the `prices` of a budget in money. A request reserves its maximum cost by these prices. The `usage` of the
 * response determines the spent amount.
 *
 * @param table prices of `definePrices` of `@sluice/prices`, or the same as plain JSON
 * @throws {TypeError} for an invalid table; the message names the field
 * @example
 * ```ts
 * const prices = money({ currency: "EUR", models: { "delta-5.3": { input: 0.5, output: 2 } } });
 * const plugin = budget({ limits: { user: 5_000_000 }, windowMs: 86_400_000, prices }); // 5 EUR a day
 * ```
 */
export function money(table: PriceTable): Money {
  const prices = definePrices(table as Prices);
  const toAmount = ({ amount, missing }: Cost) => (missing.length === 0 ? toMillionths(amount) : undefined);
  return {
    currency: prices.currency,
    estimate: (payable) => toAmount(estimateCost(toRequest(payable), prices)),
    calculate: (usage, payable) =>
      toAmount(calculateCost({ request: toRequest(payable), usage }, prices)) ?? Number.NaN,
  };
}

function toRequest({ model = "", body }: Payable) {
  return { ...body, model };
}

function toMillionths(amount: number): number {
  // an amount has up to 12 decimals, so the product has up to 6; rounding removes floating-point noise
  return Math.ceil(Number((amount * 1_000_000).toFixed(6)));
}
