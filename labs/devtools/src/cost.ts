import { type Cost, calculateCost, type Prices } from "@sluice/prices";
import type { CallRecord } from "./recording.js";
import { formatCount } from "./texts.js";

/** Texts for the reasons of an unknown cost. */
const reasons: { readonly [Reason in Cost["missing"][number]["reason"]]: string } = {
  "unknown-model": "the model has no prices",
  "no-price": "the model has no price for it",
  "no-usage": "not reported",
  "no-limit": "it has no limit",
  "not-ended": "in flight",
};

/**
 * Formats the cost of calls, and the number of calls with unknown cost: `€0.0042`, `€0.0042, and 1 unknown: in flight`.
 */
export function formatCost(calls: readonly CallRecord[], prices: Prices): string {
  const cost = calculateCost(
    calls.flatMap(({ end }) => end ?? []),
    prices,
  );
  const inFlight = calls.filter(({ end }) => !end).length;
  const missing =
    inFlight > 0 ? [...cost.missing, { reason: "not-ended", count: inFlight } as const] : cost.missing;
  if (missing.length === 0) return formatMoney(cost);
  const count = missing.reduce((sum, part) => sum + part.count, 0);
  const causes = [...new Set(missing.map(({ reason }) => reasons[reason]))].join(", ");
  return calls.length === 1
    ? causes
    : `${formatMoney(cost)}, and ${formatCount(count, "call")} of unknown cost: ${causes}`;
}

function formatMoney({ amount, currency }: { readonly amount: number; readonly currency: string }): string {
  try {
    // up to twelve decimals: a cheap call must not look free
    return new Intl.NumberFormat("en", { style: "currency", currency, maximumFractionDigits: 12 }).format(
      amount,
    );
  } catch {
    // `Intl` refuses a currency that is not an ISO code, such as "coins"
    return `${amount.toLocaleString("en", { maximumSignificantDigits: 3 })} ${currency}`;
  }
}
