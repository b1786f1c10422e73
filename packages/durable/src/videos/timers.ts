import type { Job, Transaction } from "@sluice/worker-proxy";

/** Input of a job or an operation that is about one row. A timer has the id of its row. */
export type RowId = { readonly id: string };

/** Polls a task. */
export const POLL = declareJob("videos.poll");
/** Deletes a task once nothing needs it. */
export const FORGET = declareJob("videos.forget");

/** Declares a job that operations schedule. A plugin adds what it does. */
export function declareJob(name: string): Job<RowId> {
  // more attempts than a watch ever needs: only its own rules end it
  return { name, attempts: 100_000, run: () => Promise.reject(new Error(`${name}: belongs to no plugin`)) };
}

/** Sets the time of a job. */
export async function setTimer(transaction: Transaction, job: Job<RowId>, id: string, at: number) {
  await transaction.schedule(job, { id, at, input: { id } });
}

export async function cancelTimer(transaction: Transaction, job: Job<RowId>, id: string): Promise<void> {
  await transaction.cancel(job as Job<never>, id);
}
