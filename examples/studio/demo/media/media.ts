import type { EmulatorOptions } from "@sluice/emulator";
import { sceneOf, scenes } from "./art/scenes.ts";
import { filmOf, TRAVEL } from "./film.ts";
import { bitmapOf } from "./picture.ts";
import { writePNG } from "./png.ts";

/**
 * Landscapes for the emulator's option `media`: each is painted from words of its prompt. Where no scene fits, the caption
 * says so.
 */
export const landscapes: NonNullable<EmulatorOptions["media"]> = {
  image: ({ isLastFrame, ...image }) =>
    // the last frame of a video is its first one
    captionOf(image) ?? writePNG(bitmapOf({ ...image, extra: isLastFrame ? TRAVEL : 0 }), image.prompt),
  video: (video) => captionOf(video) ?? filmOf(video),
};

function captionOf({ prompt, base }: { readonly prompt: string; readonly base?: string }) {
  return sceneOf(prompt, base) ? undefined : `No scene fits: ${prompt}`;
}

/** Number of small pictures of a scene: the platform drops the code that it compiled for the first, and keeps the third. */
const WARM_UPS = 3;
const SIDE = 128;

/**
 * Paints small pictures of each scene, so that the platform compiles the painters before a user waits for them. Without
 * this, the first picture takes three times as long as later ones.
 */
export async function warmUp(): Promise<void> {
  for (const prompt of Object.keys(scenes))
    for (let index = 0; index < WARM_UPS; index++)
      await writePNG(
        bitmapOf({ width: SIDE, height: SIDE, prompt, seed: `warm-up ${index}`, index }),
        prompt,
      );
}
