import { isGatewayError } from "@sluice/core";

/** Returns true for a temporary failure, after which the request is sent again. */
export function isTemporary(error: unknown): boolean {
  if (!isGatewayError(error)) return false;
  if (error.name === "APIError") return error.status === 429;
  return error.name === "ConnectionError" || error.name === "TimeoutError";
}

/** Statuses that all requests of a run would get: an invalid key, or no credit. */
const FATAL_STATUSES = [401, 402];

/** Returns true for a failure that would affect all requests of the run. A closed route serves none of them. */
export function isFatal(error: unknown): boolean {
  if (!isGatewayError(error) || error.name === "ConfigurationError") return true;
  if (error.name !== "APIError") return false;
  const isClosedRoute = error.source === "proxy" && error.code === "not_found";
  return FATAL_STATUSES.includes(error.status) || isClosedRoute;
}

/** Returns true if the proxy knows the key from a different request, whose result is unknown. */
export function isKeyTaken(error: unknown): boolean {
  return isGatewayError(error) && error.name === "APIError" && error.code === "idempotency_mismatch";
}

/** Returns true if a video task has finally failed. Other failures do not concern the task. */
export function isTaskFinal(error: unknown): boolean {
  if (!isGatewayError(error)) return false;
  return error.name === "TaskError" && error.reason !== "no-result";
}
