import { isGatewayError } from "@sluice/core";
import { isClosedRoute } from "@sluice/core/internal";

/** Returns true for a failure that is over in a while: the request is sent again then. */
export function isForNow(error: unknown): boolean {
  if (!isGatewayError(error)) return false;
  if (error.name === "APIError") return error.status === 429;
  return error.name === "ConnectionError" || error.name === "TimeoutError";
}

/** Statuses by which all requests are refused: an invalid key, or no money. */
const FOR_ALL = [401, 402];

/** Returns true for a failure that the other requests of the run will meet, too. */
export function endsRun(error: unknown): boolean {
  if (!isGatewayError(error) || error.name === "ConfigurationError") return true;
  return error.name === "APIError" && (FOR_ALL.includes(error.status) || isClosedRoute(error));
}

/** Returns true where a proxy knows the key with another request: how that one ended is not told. */
export function isSettledElsewhere(error: unknown): boolean {
  return isGatewayError(error) && error.name === "APIError" && error.code === "idempotency_mismatch";
}

/** Returns true if a video task will never have its video. Any other failure says nothing of the task. */
export function isOverForTask(error: unknown): boolean {
  if (!isGatewayError(error)) return false;
  return error.name === "TaskError" && error.reason !== "no-result";
}
