import { type EmulatorClock, systemClock } from "../clock.js";
import { readSubject, type Scene } from "./art/subject.js";
import { bitmapOf, type Picture } from "./picture.js";
import { writePNG } from "./png.js";

/**
 * Number of small pictures. The platform compiles a painter for the noise of the first one, and drops this code at the
 * second one, which has other noise: the third one has code that stays.
 */
const COUNT = 3;
const SIDE = 128;
/** Shortest wait of a client that is used, in milliseconds. */
const LEAST_MS = 1000;

const warm = new Set<Scene>();

/**
 * Paints small pictures of the scene that a client waits for, if it waits for `ms` milliseconds, once in a process. The
 * platform compiles the painter meanwhile: without this, the first picture takes three times as long as later ones, and
 * holds up every other answer. Does nothing if the client does not wait in real time.
 */
export async function warmUp(clock: EmulatorClock, ms: number, picture: Picture): Promise<void> {
  if (clock !== systemClock || ms < LEAST_MS) return;
  const { prompt, base = "", seed, index } = picture;
  const { scene } = readSubject(prompt, base, seed, index);
  if (warm.has(scene)) return;
  warm.add(scene);
  for (let count = 0; count < COUNT; count++) {
    // other answers come first
    await clock.sleep(1);
    const small = { ...picture, width: SIDE, height: SIDE, extra: 0, seed: `warm-up ${count}` };
    for await (const _ of writePNG(bitmapOf(small), prompt));
  }
}
