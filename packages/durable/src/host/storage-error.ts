import { Refusal } from "@sluice/worker-proxy/plugin";

/**
 * Creates the refusal for a database that is unavailable. The proxy responds with 503 and `Retry-After`, and logs the
 * cause. Either the operation stored nothing, or it is safe to run again.
 *
 * @param problem description of the failure, for the log
 */
export function createStorageError(problem: string, cause?: unknown): Refusal {
  return new Refusal("storage_unavailable", { problem, cause });
}
