import { tooMuchIn } from "../base/json-size.js";
import { Refusal } from "../refusals/refusal.js";

/** More values than any answer of the spec has. */
const MOST_OF_ANSWER = { values: 1_000_000, depth: 10_000 };

/**
 * Checks JSON of the gateway before it is parsed: 16 MB of small values would take the memory of all streams of an
 * isolate.
 *
 * @throws {Refusal} 502
 */
export function checkAnswer(json: string): void {
  // each value has a letter
  if (json.length <= MOST_OF_ANSWER.values) return;
  if (tooMuchIn(json, MOST_OF_ANSWER)) throw new Refusal("upstream_too_much");
}
