import { faultTables } from "../server/fault-tables.js";
import { type Faults, readFaults } from "../server/faults.js";

/** Fields of a validated request that decide the drawing. */
export interface ImageRequestBody {
  readonly model: string;
  readonly prompt: string;
  readonly image?: readonly string[];
  readonly sequential_image_generation?: "auto";
  readonly sequential_image_generation_options?: { readonly max_images?: number };
  readonly size?: string;
  readonly seed?: number;
}

/** A request in one shape, with defaults filled in. */
export interface ImageJob {
  readonly model: string;
  /** Prompt without its faults. */
  readonly prompt: string;
  readonly faults: Faults<keyof typeof faultTables.images>;
  /** Width in pixels. */
  readonly width: number;
  /** Height in pixels. */
  readonly height: number;
  /** Number of images to make. */
  readonly count: number;
  readonly seed: number | undefined;
  /** URLs of the reference images. */
  readonly references: readonly string[];
}

/** Default size. An assumption: both models list it, and the spec shows no default. */
const DEFAULT_SIZE = "2048x2048";
/** Length of a sequence if neither the prompt nor the request has one, and its maximum. */
const USUAL_SEQUENCE = 4;
const MAX_SEQUENCE = 15;
const NUMBER = /\b(?:(\d{1,2})|(two|three|four|five|six|seven|eight|nine))\b/i;
const words = ["two", "three", "four", "five", "six", "seven", "eight", "nine"];

/**
 * Reads a validated request.
 *
 * @param scriptedFaults faults of the script, `[[drop]]`
 */
export function readImageJob(request: ImageRequestBody, scriptedFaults?: string): ImageJob {
  const faults = readFaults(request.prompt, faultTables.images, scriptedFaults);
  const [width = 0, height = 0] = (request.size ?? DEFAULT_SIZE).split("x").map(Number);
  return {
    model: request.model,
    prompt: faults.text,
    faults,
    width,
    height,
    count: readCount(request, faults.text),
    seed: request.seed,
    references: request.image ?? [],
  };
}

/** Reads the number of images. A sequence has as many as the prompt names (“three images”), else its maximum. */
function readCount(request: ImageRequestBody, prompt: string): number {
  if (request.sequential_image_generation !== "auto") return 1;
  const max = request.sequential_image_generation_options?.max_images;
  const [, digits, word] = NUMBER.exec(prompt) ?? [];
  const named = word ? words.indexOf(word.toLowerCase()) + 2 : Number(digits ?? 0);
  return Math.min(named || (max ?? USUAL_SEQUENCE), max ?? MAX_SEQUENCE, MAX_SEQUENCE);
}
