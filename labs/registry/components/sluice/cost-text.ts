import { costWords } from "@/components/sluice/words";

/** A cost, of which a part may be missing: `calculateCost` of `@sluice/prices`. */
export interface ShownCost {
  readonly amount: number;
  readonly currency: string;
  /** Things whose cost is not in `amount`. */
  readonly missing: readonly unknown[];
}

/** A cost that is not there yet: `estimateCost` of `@sluice/prices`. */
export interface ShownEstimate extends ShownCost {
  /** The minimum. */
  readonly min: number;
}

/** Says what requests have cost; undefined where nothing of it is known. */
export function costText(
  { amount, currency, missing }: ShownCost,
  own?: Partial<typeof costWords>,
): string | undefined {
  const words = { ...costWords, ...own };
  const sum = `${priceOf(amount)} ${currency}`;
  if (missing.length === 0) return words.cost(words.title, sum);
  return amount > 0 ? words.orMore(words.title, sum) : undefined;
}

/** Says what a request will cost. */
export function estimateText(
  { amount, min, currency, missing }: ShownEstimate,
  own?: Partial<typeof costWords>,
): string {
  const words = { ...costWords, ...own };
  if (missing.length > 0) return words.later;
  const range = min < amount ? words.range(priceOf(min), priceOf(amount)) : priceOf(amount);
  return `${range} ${currency}`;
}

/** Writes an amount with three digits that count. */
export function priceOf(amount: number): string {
  return amount.toLocaleString("en", { maximumSignificantDigits: 3 });
}
