import { untilAborted } from "../base/clock.js";
import type { FailureMode } from "./faults.js";
import { type Answer, json, jsonBody, serverError } from "./http.js";
import { reset } from "./network-faults.js";

/** Answers with `value` as JSON, or fails in the given mode. */
export function answerJSON(
  value: object,
  failureMode: FailureMode | undefined,
  signal: AbortSignal,
): Answer | Promise<Answer> {
  const text = JSON.stringify(value);
  const half = text.slice(0, Math.floor(text.length / 2));
  switch (failureMode) {
    case "stall":
      return untilAborted(signal);
    case "error-frame":
      return serverError("The model failed while it was answering.");
    case "truncate":
      return jsonBody(half);
    case "malformed":
      return jsonBody(`${text.slice(0, -1)},}`);
    case "drop":
      return jsonBody(async function* () {
        yield half;
        throw reset();
      });
    default:
      return json(value);
  }
}
