import { untilAborted } from "./clock.js";
import type { Ending } from "./cues.js";
import { reset } from "./faults.js";
import { type Answer, json, jsonBody, serverError } from "./http.js";

/** Answers with `value` as JSON, or goes wrong on the way in the manner that was asked for. */
export function jsonEnding(
  value: object,
  ending: Ending | undefined,
  signal: AbortSignal,
): Answer | Promise<Answer> {
  const text = JSON.stringify(value);
  const half = text.slice(0, Math.floor(text.length / 2));
  switch (ending) {
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
