import type { ImageDescription, MediaScript } from "@sluice/emulator";
import { filmOf, TRAVEL } from "./film.ts";
import { bitmapOf } from "./picture.ts";
import { writePNG } from "./png.ts";

/** Landscapes for the emulator's option `media`: each is painted from words of its prompt. */
export const landscapes: MediaScript = { image: paintImage, video: filmOf };

/** Number of small pictures of a scene: the platform drops the code that it compiled for the first, and keeps the third. */
const WARM_UPS = 3;
const SIDE = 128;

/**
 * Paints small pictures of each scene, so that the platform compiles the painters before a user waits for them. Without
 * this, the first picture takes three times as long as later ones.
 */
export async function warmUp(): Promise<void> {
  for (const prompt of ["hill", "sea", "reef", "city", "forest", "desert", "space", "light"])
    for (let index = 0; index < WARM_UPS; index++)
      await paintImage({ width: SIDE, height: SIDE, prompt, seed: `warm-up ${index}`, index });
}

function paintImage({ isLastFrame, ...image }: ImageDescription): Promise<Blob> {
  // the last frame of a video is its first one
  return writePNG(bitmapOf({ ...image, extra: isLastFrame ? TRAVEL : 0 }), image.prompt);
}
