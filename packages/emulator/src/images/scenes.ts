import { commonScenes, readScenes, type Scenes } from "../server/scenes.js";

/** Scenes of the prompt of an image request, written `[[name]]`, with their effects. */
export const imageScenes = {
  ...commonScenes,
  slow: "takes about a minute instead of some seconds, divided by the speed",
  partial: "the second image of a sequence is an error in place of a url",
} as const;

/** Scenes of one prompt. */
export type ImageScenes = Scenes<keyof typeof imageScenes>;

/** Reads the scenes of a prompt. */
export function readImageScenes(prompt: string, added?: string): ImageScenes {
  return readScenes(prompt, imageScenes, added);
}
