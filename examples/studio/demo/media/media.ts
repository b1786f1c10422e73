import type { EmulatorOptions } from "@sluice/emulator";
import { sceneOf } from "./art/scenes.ts";
import { bitmapOf, type Picture } from "./picture.ts";

/**
 * Landscapes for the emulator's option `media`: each is painted from words of its prompt. Where no scene fits, the caption
 * says so.
 */
export const landscapes: NonNullable<EmulatorOptions["media"]> = { image: paintOrSay, video: paintOrSay };

function paintOrSay(picture: Picture) {
  return sceneOf(picture.prompt, picture.base) ? bitmapOf(picture) : `No scene fits: ${picture.prompt}`;
}
