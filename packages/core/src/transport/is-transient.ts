import type { APIError } from "../types/errors.js";

/** Returns true for a temporary failure: 408, 429, 5xx and failed connections. */
export function isTransient(error: Error): boolean {
  const { name, status = 0 } = error as Partial<APIError>;
  if (name !== "APIError") return name === "ConnectionError";
  return status === 408 || status === 429 || status >= 500;
}
