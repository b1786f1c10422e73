import { waitForAbort } from "../base/clock.js";
import type { FailureMode } from "./faults.js";
import { createJSON, createJSONBody, createServerError, type HandlerResponse } from "./http.js";
import { createResetError } from "./network-faults.js";

/** Responds with `value` as JSON, or fails in the given mode. */
export function respondJSON(
  value: object,
  failureMode: FailureMode | undefined,
  signal: AbortSignal,
): HandlerResponse | Promise<HandlerResponse> {
  const text = JSON.stringify(value);
  const half = text.slice(0, Math.floor(text.length / 2));
  switch (failureMode) {
    case "stall":
      return waitForAbort(signal);
    case "error-frame":
      return createServerError("The model failed during its response.");
    case "truncate":
      return createJSONBody(half);
    case "malformed":
      return createJSONBody(`${text.slice(0, -1)},}`);
    case "drop":
      return createJSONBody(async function* () {
        yield half;
        throw createResetError();
      });
    default:
      return createJSON(value);
  }
}
