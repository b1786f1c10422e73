import { checkImageRequest, imageModels } from "@sluice/core/schemas";
import type { EmulatorClock } from "../clock.js";
import type { Files } from "../files/files.js";
import type { Picture } from "../files/picture.js";
import { checkBody } from "../server/check.js";
import type { Exchange } from "../server/exchange.js";
import { answerJSON } from "../server/failure-mode.js";
import { hash } from "../server/hash.js";
import type { Answer } from "../server/http.js";
import type { Refuse } from "../server/refusals.js";
import { type ImageJob, type ImageRequestBody, readImageJob } from "./job.js";

/** Parts that the image endpoint uses. */
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

/** Creates `POST /v1/images/generations`. */
export function createImages({ clock, speed, refuse, files }: ImagesOptions) {
  let count = 0;
  return { answer, clear };

  async function answer(exchange: Exchange): Promise<Answer> {
    const checked = checkBody<ImageRequestBody>(exchange, checkImageRequest, imageModels);
    if ("refusal" in checked) return checked.refusal;
    const job = readImageJob(checked.body);
    const refusal = refuse(job.scenes, exchange.text);
    if (refusal) return refusal;

    const id = `img_${hash(exchange.text)}_${++count}`;
    const wait =
      ((START_MS + EACH_MS * job.count) * (job.scenes.names.has("slow") ? SLOW_FACTOR : 1)) / speed;
    if (wait > 0) await clock.sleep(wait, exchange.request.signal);
    return answerJSON(resultOf(job, id, exchange.origin), job.scenes.failureMode, exchange.request.signal);
  }

  function resultOf(job: ImageJob, id: string, origin: string) {
    const data = Array.from({ length: job.count }, (_, index) => {
      if (index === 1 && job.scenes.names.has("partial")) return { error: filtered };
      const at = { origin, expiresAt: clock.now() + LIFETIME_MS };
      const url = files.publish(`${id}_${index}.png`, pictureOf(job, id, index), at);
      return { url, size: `${job.width}x${job.height}` };
    });
    const made = data.filter((entry) => "url" in entry).length;
    const tokens = made * Math.round((job.width * job.height) / PIXELS_PER_TOKEN);
    const usage = { generated_images: made, output_tokens: tokens, total_tokens: tokens };
    return { model: job.model, created: Math.floor(clock.now() / 1000), data, usage };
  }

  function clear() {
    count = 0;
  }
}

const filtered = { code: "content_filter", message: "This image was withheld by the content filter." };

/** Describes one image. Without a seed, every request gets other images. */
function pictureOf(
  { model, prompt, width, height, seed, count, references }: ImageJob,
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
