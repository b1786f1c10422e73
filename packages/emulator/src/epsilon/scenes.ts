import { commonScenes, readScenes, type Scenes } from "../server/scenes.js";

/** Scenes of any string of an epsilon request, written `[[name]]`, with their effects. */
export const epsilonScenes = {
  ...commonScenes,
  slow: "takes five minutes instead of one or two, divided by the speed",
  fail: "the task ends as failed",
} as const;

const STRING = /"(?:[^"\\]|\\.)*"/g;

/** Reads the scenes of every string in a body of JSON. Outside of a string, `[[500]]` is a list. */
export function readEpsilonScenes(body: string, added?: string): Scenes<keyof typeof epsilonScenes> {
  const texts = (body.match(STRING) ?? []).map((text) => text.slice(1, -1));
  return readScenes(texts, epsilonScenes, added);
}
