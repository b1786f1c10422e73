"use client";

import type { ReactNode } from "react";
import {
  formatCost,
  formatEstimate,
  type ShownCost,
  type ShownEstimate,
} from "@/components/sluice/cost-text";
import { costWords } from "@/components/sluice/words";

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
