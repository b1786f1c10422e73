import type { EmulatorOptions } from "@sluice/emulator";
import { findScene } from "./art/scenes.ts";
import { createBitmap, type ImageInput } from "./image.ts";

/**
 * Landscapes for the emulator's option `media`: each is painted from words of its prompt. Where no scene fits, the caption
 * says so.
 */
export const landscapes: NonNullable<EmulatorOptions["media"]> = { image: paintOrSay, video: paintOrSay };

function paintOrSay(image: ImageInput) {
  return findScene(image.prompt, image.base) ? createBitmap(image) : `No scene fits: ${image.prompt}`;
}
