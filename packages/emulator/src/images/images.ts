import { checkImageRequest, imageModels } from "@sluice/core/schemas";
import { checkBody } from "../check.js";
import type { EmulatorClock } from "../clock.js";
import { jsonEnding } from "../ending.js";
import type { Exchange } from "../exchange.js";
import type { Files } from "../files/files.js";
import type { Picture } from "../files/picture.js";
import { hash } from "../hash.js";
import type { Answer } from "../http.js";
import type { Refuse } from "../refusals.js";
import { type ImageAsk, type ImageRequestBody, readImageAsk } from "./ask.js";

/** What the image endpoint needs. */
export interface ImagesOptions {
  readonly clock: EmulatorClock;
  readonly speed: number;
  readonly refuse: Refuse;
  readonly files: Files;
}

const START_MS = 2000;
const EACH_MS = 2500;
const SLOW_FACTOR = 12;
const PIXELS_PER_TOKEN = 256;
const LIFETIME_MS = 24 * 3_600_000;

/** `POST /v1/images/generations`. */
export function createImages({ clock, speed, refuse, files }: ImagesOptions) {
  let count = 0;
  return { answer, clear };

  async function answer(exchange: Exchange): Promise<Answer> {
    const checked = checkBody<ImageRequestBody>(exchange, checkImageRequest, imageModels);
    if ("refusal" in checked) return checked.refusal;
    const ask = readImageAsk(checked.body);
    const refusal = refuse(ask.cues, exchange.text);
    if (refusal) return refusal;

    const id = `img_${hash(exchange.text)}_${++count}`;
    const wait = ((START_MS + EACH_MS * ask.count) * (ask.cues.names.has("slow") ? SLOW_FACTOR : 1)) / speed;
    if (wait > 0) await clock.sleep(wait, exchange.request.signal);
    return jsonEnding(resultOf(ask, id, exchange.origin), ask.cues.ending, exchange.request.signal);
  }

  function resultOf(ask: ImageAsk, id: string, origin: string) {
    const data = Array.from({ length: ask.count }, (_, index) => {
      if (index === 1 && ask.cues.names.has("partial")) return { error: filtered };
      const at = { origin, expiresAt: clock.now() + LIFETIME_MS };
      const url = files.publish(`${id}_${index}.png`, pictureOf(ask, id, index), at);
      return { url, size: `${ask.width}x${ask.height}` };
    });
    const made = data.filter((entry) => "url" in entry).length;
    const tokens = made * Math.round((ask.width * ask.height) / PIXELS_PER_TOKEN);
    const usage = { generated_images: made, output_tokens: tokens, total_tokens: tokens };
    return { model: ask.model, created: Math.floor(clock.now() / 1000), data, usage };
  }

  function clear() {
    count = 0;
  }
}

const filtered = { code: "content_filter", message: "This image was withheld by the content filter." };

/** Without a seed every request gets pictures of its own. */
function pictureOf(
  { model, prompt, width, height, seed, count, references }: ImageAsk,
  id: string,
  index: number,
) {
  const shownSeed = seed ?? Number.parseInt(hash(id).slice(0, 7), 16);
  const details = [
    `${width}x${height}`,
    `seed ${shownSeed}`,
    ...(count > 1 ? [`${index + 1} of ${count}`] : []),
    ...(references > 0 ? [`from ${references} image${references > 1 ? "s" : ""}`] : []),
  ];
  return {
    width,
    height,
    seed: hash(`${model} ${prompt} ${shownSeed} ${index}`),
    captions: [model, details.join("  ")],
    text: prompt,
  } satisfies Picture;
}
