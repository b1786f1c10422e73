import { commonFaults, type Faults, readFaults } from "../server/faults.js";

/** Faults of the prompt of an image request, written `[[name]]`, with their effects. */
export const imageFaults = {
  ...commonFaults,
  slow: "takes about a minute instead of some seconds, divided by the speed",
  partial: "the second image of a sequence is an error in place of a url",
} as const;

/** Faults of one prompt. */
export type ImageFaults = Faults<keyof typeof imageFaults>;

/** Reads the faults of a prompt. */
export function readImageFaults(prompt: string, added?: string): ImageFaults {
  return readFaults(prompt, imageFaults, added);
}
