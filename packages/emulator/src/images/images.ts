import { checkRequest } from "@sluice/core/schemas";
import { type FileEndpointOptions, RESULT_LIFETIME_MS, type Reference } from "../files/files.js";
import type { ImageDescription } from "../files/media.js";
import { checkBody } from "../server/check.js";
import type { Exchange } from "../server/exchange.js";
import { respondJSON } from "../server/failure-mode.js";
import { refuseUnreachable } from "../server/fetch-media.js";
import { hash } from "../server/hash.js";
import type { HandlerResponse } from "../server/http.js";
import { createCounter } from "../server/state.js";
import { type ImageJob, type ImageRequestBody, readImageJob } from "./job.js";

interface ImagesOptions extends FileEndpointOptions {
  /** Milliseconds of a response that is not slow. Undefined for some seconds per image. */
  readonly durationMs: number | undefined;
}

const START_MS = 2000;
const MS_PER_IMAGE = 2500;
const SLOW_FACTOR = 12;
const PIXELS_PER_TOKEN = 256;

/** Creates `POST /v1/images/generations`. */
export function createImages({
  state,
  clock,
  speed,
  refuse,
  takeFailure,
  files,
  fetchMedia,
  durationMs,
}: ImagesOptions) {
  const count = createCounter(state, "images");
  return { handle, clear };

  async function handle(exchange: Exchange): Promise<HandlerResponse> {
    const checked = checkBody<ImageRequestBody>(exchange, checkRequest, "image");
    if ("refusal" in checked) return checked.refusal;
    const job = readImageJob(checked.body, exchange.scripted?.faults);
    const addresses = job.references.map((url, index) => ({ path: `image.${index}`, url }));
    const refusal = refuse(job.faults, exchange) ?? (await refuseUnreachable(addresses, fetchMedia));
    if (refusal) return refusal;

    const id = `img_${hash(exchange.text)}_${count.next()}`;
    const usualMs = START_MS + MS_PER_IMAGE * job.count;
    const ms = job.faults.names.has("slow") ? SLOW_FACTOR * usualMs : (durationMs ?? usualMs);
    const reference = files.describeReference(job.references[0]);
    if (ms / speed > 0) await clock.sleep(ms / speed, exchange.request.signal);
    return respondJSON(
      toResult(job, reference, id, exchange.origin),
      takeFailure(job.faults, exchange),
      exchange.request.signal,
    );
  }

  function toResult(job: ImageJob, reference: Reference, id: string, origin: string) {
    const data = Array.from({ length: job.count }, (_, index) => {
      if (index === 1 && job.faults.names.has("partial")) return { error: filtered };
      const at = { origin, expiresAt: clock.now() + RESULT_LIFETIME_MS };
      const url = files.publish(`${id}_${index}.png`, describe(job, reference, id, index), at);
      return { url, size: `${job.width}x${job.height}` };
    });
    const generated = data.filter((entry) => "url" in entry).length;
    const tokens = generated * Math.round((job.width * job.height) / PIXELS_PER_TOKEN);
    const usage = { generated_images: generated, output_tokens: tokens, total_tokens: tokens };
    return { model: job.model, created: Math.floor(clock.now() / 1000), data, usage };
  }

  function clear() {
    count.clear();
  }
}

const filtered = { code: "content_filter", message: "This image was withheld by the content filter." };

/**
 * Describes one image. Without a seed in the request, an edit of the emulator's own image has the seed of that image,
 * and any other request gets different images.
 */
function describe(
  { model, prompt, width, height, seed: requestSeed }: ImageJob,
  { base, colors, seed: referenceSeed }: Reference,
  id: string,
  index: number,
): ImageDescription {
  const number = requestSeed ?? Number.parseInt(hash(id).slice(0, 7), 16);
  const ownSeed = hash(`${model} ${prompt} ${number}${showsOneLocation(prompt) ? "" : ` ${index}`}`);
  const seed = requestSeed === undefined ? (referenceSeed ?? ownSeed) : ownSeed;
  return { width, height, prompt, ...(base && { base }), ...(colors && { colors }), seed, index };
}

/** Checks if the images of a set show one location at different times. */
function showsOneLocation(prompt: string): boolean {
  return /\b(?:one|same|through|seasons|times of)\b/i.test(prompt);
}
