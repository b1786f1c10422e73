import { type Cues, commonScenes, readCues } from "../cues.js";

/** What the prompt of an image request may ask for, written `[[name]]`, and what then happens. */
export const imageScenes = {
  ...commonScenes,
  slow: "takes about a minute instead of some seconds, divided by the speed",
  partial: "the second image of a sequence is an error in place of a url",
} as const;

/** The scenes of one prompt. */
export type ImageCues = Cues<keyof typeof imageScenes>;

/** Reads the cues of a prompt. */
export function readImageCues(prompt: string): ImageCues {
  return readCues(prompt, imageScenes);
}
