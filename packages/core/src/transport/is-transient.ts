import { APIError, ConnectionError } from "../vocabulary/errors.js";

/** Returns true for a temporary failure: 408, 429, 5xx and failed connections. */
export function isTransient(error: Error): boolean {
  if (!(error instanceof APIError)) return error instanceof ConnectionError;
  return error.status === 408 || error.status === 429 || error.status >= 500;
}
