import type { EmulatorOptions } from "@sluice/emulator";
import { findScene } from "./art/scenes.ts";
import { createBitmap, type ImageInput } from "./image.ts";

/** Landscapes for the emulator's option `media`, painted from the words of a prompt. A caption says if no scene fits. */
export const landscapes: NonNullable<EmulatorOptions["media"]> = {
  image: paintOrCaption,
  video: paintOrCaption,
};

function paintOrCaption(image: ImageInput) {
  return findScene(image.prompt, image.base) ? createBitmap(image) : `No scene fits: ${image.prompt}`;
}
