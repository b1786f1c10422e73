import { definePrices, estimateCost } from "@sluice/prices";

/** Yours: the prices of your contract. */
const prices = definePrices({
  currency: "EUR",
  models: { "beta3.0-video": { second: { "720P": 0.05, "1080P": 0.1 } } },
});

/** Returns the question for a request above 0.50 EUR, or without a known price. */
export function askAbove(request: Parameters<typeof estimateCost>[0]): string | undefined {
  const { amount, missing } = estimateCost(request, prices);
  if (missing.length > 0) return "The cost of this call is not known. Continue?";
  return amount > 0.5 ? `This call costs up to ${amount.toFixed(2)} EUR. Continue?` : undefined;
}
