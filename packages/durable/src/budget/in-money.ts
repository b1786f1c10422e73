import { type Cost, calculateCost, definePrices, estimateCost, type Prices } from "@sluice/prices";
import type { Payable, Usage } from "@sluice/worker-proxy";

/**
 * Prices of models, as `definePrices` of `@sluice/prices` returns them. A page and its proxy may have the same table.
 */
export interface PriceTable {
  /** Currency of all prices, `"EUR"`. */
  readonly currency: string;
  /** Prices by the id of the model: `{ "delta-5.3": { input: 0.5, output: 2 } }`, for a million tokens. */
  readonly models: { readonly [model: string]: object };
}

/** Amounts by a table of prices, in millionths of its currency. */
export interface MoneyPrices {
  /** Currency of the table. */
  readonly currency: string;
  /** Returns the most that a request can cost; undefined where the table can't tell. */
  most(payable: Payable): number | undefined;
  /** Returns the cost of an answer; `NaN` where the table can't tell. */
  cost(usage: Usage, payable: Payable): number;
}

/**
 * Reads a table of prices for the option `prices` of {@link budget}: its amounts are then millionths of the currency.
 *
 * @throws {TypeError} that names the field of the table that is wrong
 * @example
 * ```ts
 * const meter = budget<Env>({
 *   namespace: (env) => env.BUDGET,
 *   limits: { user: 5_000_000 }, // 5 EUR
 *   windowMs: 24 * 60 * 60 * 1000,
 *   prices: inMoney({ currency: "EUR", models: { "delta-5.3": { input: 0.5, output: 2 } } }),
 * });
 * ```
 */
export function inMoney(table: PriceTable): MoneyPrices {
  const prices = definePrices(table as Prices);
  const known = ({ amount, missing }: Cost) => (missing.length === 0 ? toMillionths(amount) : undefined);
  return {
    currency: prices.currency,
    most: (payable) => known(estimateCost(requestOf(payable), prices)),
    cost: (usage, payable) =>
      known(calculateCost({ request: requestOf(payable), usage }, prices)) ?? Number.NaN,
  };
}

function requestOf({ model = "", body }: Payable) {
  return { ...body, model };
}

/** Returns an amount in whole millionths of the currency. A fraction is rounded up. */
function toMillionths(amount: number): number {
  // an amount has 12 decimals; the product has the noise of a binary fraction behind the sixth
  return Math.ceil(Number((amount * 1_000_000).toFixed(6)));
}
