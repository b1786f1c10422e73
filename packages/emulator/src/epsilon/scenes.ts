import { type Cues, commonScenes, readCues } from "../cues.js";

/** What any text of an epsilon request may ask for, written `[[name]]`, and what then happens. */
export const epsilonScenes = {
  ...commonScenes,
  slow: "takes five minutes instead of one or two, divided by the speed",
  fail: "the task ends as failed",
} as const;

const STRING = /"(?:[^"\\]|\\.)*"/g;

/** Reads the cues of every string in a body of JSON; `[[500]]` outside of one is a list. */
export function readEpsilonCues(body: string): Cues<keyof typeof epsilonScenes> {
  return readCues((body.match(STRING) ?? []).join(" "), epsilonScenes);
}
