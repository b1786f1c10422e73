"use client";

import type { ReactNode } from "react";
import { ProgressBar } from "@/components/sluice/button";
import {
  formatAmount,
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
        {text}
      </p>
    )
  );
}

interface EstimateProps {
  readonly estimate: ShownEstimate;
  /** The button that sends the request. */
  readonly children: ReactNode;
}

/** A button, and what its request will cost. */
export function Estimate({ estimate, children }: EstimateProps) {
  return (
    <span className="flex items-center justify-end gap-3">
      <span className="text-right text-xs text-muted-foreground tabular-nums">
        <span className="sr-only">{costWords.title} </span>
        {formatEstimate(estimate)}
      </span>
      {children}
    </span>
  );
}

/** A budget of the user, as the proxy answers `GET /v1/budget`. */
export interface BudgetState {
  readonly by: string;
  /** `tokens`, `own`, or `millionths` of a `currency`. */
  readonly unit: string;
  readonly currency?: string;
  readonly limit: number;
  readonly reserved: number;
  readonly remaining: number;
  /** Unix milliseconds. */
  readonly resetsAt: number;
}

interface BudgetProps {
  readonly budget: BudgetState;
}

/** Rest of a budget, and the time at which it is full again. */
export function Budget({ budget }: BudgetProps) {
  const { by, limit, reserved, remaining, resetsAt } = budget;
  const name = (costWords.budgets as Readonly<Record<string, string>>)[by] ?? by;
  const left = costWords.left(formatBudgetAmount(budget, remaining), formatBudgetAmount(budget, limit));
  const facts = [
    reserved > 0 && costWords.reserved(formatBudgetAmount(budget, reserved)),
    costWords.resets(
      new Date(resetsAt).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }),
    ),
  ];
  return (
    <div className="flex flex-col gap-1 text-sm tabular-nums">
      <p className="flex flex-wrap justify-between gap-x-2">
        <span>{name}</span>
        <span className="text-muted-foreground">{left}</span>
      </p>
      <ProgressBar label={name} share={limit > 0 ? Math.max(0, remaining) / limit : 0} text={left} />
      <p className="text-xs text-muted-foreground">{facts.filter(Boolean).join(" · ")}</p>
    </div>
  );
}

function formatBudgetAmount({ unit, currency }: BudgetState, amount: number): string {
  if (unit === "millionths") return `${formatAmount(amount / 1_000_000)} ${currency ?? ""}`.trim();
  const name = (costWords.units as Readonly<Record<string, string>>)[unit] ?? unit;
  return `${Math.max(0, amount).toLocaleString()} ${name}`;
}
