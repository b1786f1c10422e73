import type { BoundHost, Exhausted, Payable, Reservation } from "@sluice/worker-proxy/plugin";
import type { Plan } from "./reservations.js";

/** A budget that reserves a user's own limits within the transactions of a stored request. */
export interface JobBudget {
  /** Plans the reservation of a request. It reserves nothing yet. */
  plan(payable: Payable<never>): Promise<Plan>;
  /**
   * Reserves the shared limits of a plan, after a transaction has reserved the limits in the user's key. The returned
   * reservation settles only the shared limits.
   */
  reserveShared(host: BoundHost, plan: Plan, payable: Payable<never>): Promise<Reservation | Exhausted>;
}

const budgets = new WeakMap<object, JobBudget>();

/** Registers a budget for the plugins that store requests. */
export function offerJobBudget(plugin: object, budget: JobBudget): void {
  budgets.set(plugin, budget);
}

/** Returns the budget that is registered for a meter; undefined for any other meter, including a copy of a budget. */
export function findJobBudget(meter: object | undefined): JobBudget | undefined {
  return meter && budgets.get(meter);
}
