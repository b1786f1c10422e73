import { commonFaults, type Faults, readFaults } from "../server/faults.js";

/** Faults of any string of an epsilon request, written `[[name]]`, with their effects. */
export const epsilonFaults = {
  ...commonFaults,
  slow: "takes five minutes instead of one or two, divided by the speed",
  fail: "the task ends as failed",
} as const;

const STRING = /"(?:[^"\\]|\\.)*"/g;

/** Reads the faults of every JSON string in a body. Outside of a string, `[[500]]` is a list. */
export function readEpsilonFaults(body: string, added?: string): Faults<keyof typeof epsilonFaults> {
  const texts = (body.match(STRING) ?? []).map((text) => text.slice(1, -1));
  return readFaults(texts, epsilonFaults, added);
}
