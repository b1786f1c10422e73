import { Refusal } from "@sluice/worker-proxy/plugin";

/**
 * Refusal of a request because the database can't do it now. The proxy responds with 503 and `Retry-After`, and its log
 * has the cause. Nothing of the operation is stored, or it is safe to run again.
 *
 * @param problem what failed, for the log
 */
export function createStorageError(problem: string, cause?: unknown): Refusal {
  return new Refusal("storage_unavailable", { problem, cause });
}
