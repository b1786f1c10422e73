"use client";

import type { ReactNode } from "react";
import { costWords } from "@/components/sluice/words";

/** A cost that may be incomplete: the result of `calculateCost` of `@sluice/prices`. */
export interface ShownCost {
  readonly amount: number;
  readonly currency: string;
  /** Requests whose cost is not in `amount`. */
  readonly missing: readonly unknown[];
}

/** The cost of a request before it is sent: `estimateCost` of `@sluice/prices`. */
export interface ShownEstimate extends ShownCost {
  /** The minimum. */
  readonly min: number;
}

/** Formats the cost of requests: `0.54 USD`. Undefined if no part of it is known. */
export function formatCost({ amount, currency, missing }: ShownCost): string | undefined {
  const sum = `${formatAmount(amount)} ${currency}`;
  if (missing.length === 0) return sum;
  return amount > 0 ? costWords.orMore(sum) : undefined;
}

/** Formats the estimated cost of a request: `30 to 120 USD`. */
export function formatEstimate({ amount, min, currency, missing }: ShownEstimate): string {
  if (missing.length > 0) return costWords.later;
  const bounds = min < amount ? [min, amount] : [amount];
  return `${costWords.range(bounds.map(formatAmount))} ${currency}`;
}

/** Formats an amount with two significant digits, or as a whole number above 100. */
function formatAmount(amount: number): string {
  const digits = amount >= 100 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 2 };
  return amount.toLocaleString("en", digits);
}

interface CostProps {
  readonly cost: ShownCost;
  /** Name of the amount. @default "Cost" */
  readonly title?: string;
}

/** Cost of requests. */
export function Cost({ cost, title = costWords.title }: CostProps) {
  const text = formatCost(cost);
  return (
    text && (
      <p data-tip={title} className="shrink-0 px-2 text-xs text-muted-foreground tabular-nums">
        <span className="sr-only">{title} </span>
        <bdi>{text}</bdi>
      </p>
    )
  );
}

interface EstimateProps {
  readonly estimate: ShownEstimate;
  /** The button that sends the request. */
  readonly children: ReactNode;
}

/** A button with the estimated cost of its request. */
export function Estimate({ estimate, children }: EstimateProps) {
  return (
    <span className="flex items-center justify-end gap-3">
      <span className="text-end text-xs text-muted-foreground tabular-nums">
        <span className="sr-only">{costWords.title} </span>
        <bdi>{formatEstimate(estimate)}</bdi>
      </span>
      {children}
    </span>
  );
}
