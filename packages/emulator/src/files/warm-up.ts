import { type EmulatorClock, systemClock } from "../clock.js";
import { bitmapOf } from "./picture.js";
import { writePNG } from "./png.js";

/** Prompts that together run every painter, in small pictures. */
const PROMPTS = [
  "a snowy mountain lake at night under an aurora",
  "misty hills at dawn",
  "the sea and a beach at dusk",
  "a reef",
  "a city at night in the rain",
  "an autumn forest in the mist",
  "a pine forest in the snow",
  "a desert",
  "a planet and a galaxy in space",
  "abstract light",
];
const SIDE = 128;
/** Shortest wait of a client that is used, in milliseconds. */
const LEAST_MS = 1000;

let isWarm = false;

/**
 * Paints small pictures while a client waits for `ms` milliseconds, once in a process. The platform compiles the
 * painters meanwhile: without this, the first picture takes twice as long as later ones, and holds up every other
 * answer. Does nothing if the client does not wait in real time.
 */
export async function warmUp(clock: EmulatorClock, ms: number): Promise<void> {
  if (isWarm || clock !== systemClock || ms < LEAST_MS) return;
  isWarm = true;
  for (const prompt of PROMPTS) {
    // other answers come first
    await clock.sleep(1);
    const picture = { width: SIDE, height: SIDE, prompt, seed: "warm-up", index: 0 };
    for await (const _ of writePNG(bitmapOf(picture), prompt));
  }
}
