import type { BoundHost, Exhausted, Payable, Reservation } from "@sluice/worker-proxy";
import type { Plan } from "./reservations.js";

/** A budget whose reservation with the user is part of the transactions of a stored request. */
export interface JobBudget {
  /** Returns what a request reserves. Nothing is reserved yet. */
  plan(payable: Payable<never>): Promise<Plan>;
  /**
   * Reserves what a plan reserves outside of the user's key, which a transaction has done. The reservation settles the
   * same.
   */
  reserveShared(host: BoundHost, plan: Plan, payable: Payable<never>): Promise<Reservation | Exhausted>;
}

const budgets = new WeakMap<object, JobBudget>();

/** Offers the transactions of a budget to the plugins that store requests. */
export function offerJobBudget(plugin: object, budget: JobBudget): void {
  budgets.set(plugin, budget);
}

/** Returns the budget behind a meter; undefined for a meter of another kind, or a changed one. */
export function findJobBudget(meter: object | undefined): JobBudget | undefined {
  return meter && budgets.get(meter);
}
