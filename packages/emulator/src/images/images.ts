import { checkRequest } from "@sluice/core/schemas";
import { pickColors } from "../files/color.js";
import type { FileEndpointOptions } from "../files/files.js";
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
  readonly usualMs: number | undefined;
}

const START_MS = 2000;
const EACH_MS = 2500;
const SLOW_FACTOR = 12;
const PIXELS_PER_TOKEN = 256;
const LIFETIME_MS = 24 * 3_600_000;

/** Creates `POST /v1/images/generations`. */
export function createImages({
  state,
  clock,
  speed,
  refuse,
  takeFailure,
  files,
  fetchMedia,
  usualMs,
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
    const own = START_MS + EACH_MS * job.count;
    const wait = (job.faults.names.has("slow") ? SLOW_FACTOR * own : (usualMs ?? own)) / speed;
    const reference = describeReference(job);
    if (wait > 0) await clock.sleep(wait, exchange.request.signal);
    return respondJSON(
      toResult(job, reference, id, exchange.origin),
      takeFailure(job.faults, exchange),
      exchange.request.signal,
    );
  }

  function describeReference({ references: [url], seed }: ImageJob): Reference {
    if (url === undefined) return {};
    const own = files.findImage(url);
    if (!own) return { colors: pickColors(url) };
    const base = `${own.prompt} ${own.base ?? ""}`;
    const colors = own.colors ? { colors: own.colors } : {};
    return { base, ...colors, ...(seed === undefined ? { seed: own.seed } : {}) };
  }

  function toResult(job: ImageJob, reference: Reference, id: string, origin: string) {
    const data = Array.from({ length: job.count }, (_, index) => {
      if (index === 1 && job.faults.names.has("partial")) return { error: filtered };
      const at = { origin, expiresAt: clock.now() + LIFETIME_MS };
      const url = files.publish(`${id}_${index}.png`, describe(job, reference, id, index), at);
      return { url, size: `${job.width}x${job.height}` };
    });
    const made = data.filter((entry) => "url" in entry).length;
    const tokens = made * Math.round((job.width * job.height) / PIXELS_PER_TOKEN);
    const usage = { generated_images: made, output_tokens: tokens, total_tokens: tokens };
    return { model: job.model, created: Math.floor(clock.now() / 1000), data, usage };
  }

  function clear() {
    count.clear();
  }
}

const filtered = { code: "content_filter", message: "This image was withheld by the content filter." };

/** Fields that a reference image decides: prompt, colors and seed if the emulator created it, else only the colors. */
type Reference = Pick<ImageDescription, "base" | "colors"> & { readonly seed?: string };

/**
 * Describes one image. Without a seed, every request gets different images. An edit of the emulator's own image stays
 * similar.
 */
function describe(
  { model, prompt, width, height, seed }: ImageJob,
  reference: Reference,
  id: string,
  index: number,
) {
  const chosen = seed ?? Number.parseInt(hash(id).slice(0, 7), 16);
  const ownSeed = hash(`${model} ${prompt} ${chosen}${showsOneLocation(prompt) ? "" : ` ${index}`}`);
  return {
    width,
    height,
    prompt,
    ...reference,
    seed: reference.seed ?? ownSeed,
    index,
  } satisfies ImageDescription;
}

/** Checks if the images of a set show one location at different times. */
function showsOneLocation(prompt: string): boolean {
  return /\b(?:one|same|through|seasons|times of)\b/i.test(prompt);
}
