import { type ImageCues, readImageCues } from "./scenes.js";

/** The fields of a request that decide what is drawn; the rules have been checked. */
export interface ImageRequestBody {
  readonly model: string;
  readonly prompt: string;
  readonly image?: readonly string[];
  readonly sequential_image_generation?: "auto";
  readonly sequential_image_generation_options?: { readonly max_images?: number };
  readonly size?: string;
  readonly seed?: number;
}

/** What a request asks for, read once, defaults filled in. */
export interface ImageAsk {
  readonly model: string;
  /** Without its cues. */
  readonly prompt: string;
  readonly cues: ImageCues;
  /** In pixels. */
  readonly width: number;
  readonly height: number;
  /** How many images are made. */
  readonly count: number;
  readonly seed: number | undefined;
  /** How many images were given to start from. */
  readonly references: number;
}

/** In the list of both models; the spec shows no default. */
const DEFAULT_SIZE = "2048x2048";
const USUAL_SEQUENCE = 4;
const LONGEST_SEQUENCE = 15;
const NUMBER = /\b(?:(\d{1,2})|(two|three|four|five|six|seven|eight|nine))\b/i;
const words = ["two", "three", "four", "five", "six", "seven", "eight", "nine"];

/** Reads a request that has passed the gateway's rules. */
export function readImageAsk(request: ImageRequestBody): ImageAsk {
  const cues = readImageCues(request.prompt);
  const [width = 0, height = 0] = (request.size ?? DEFAULT_SIZE).split("x").map(Number);
  return {
    model: request.model,
    prompt: cues.text,
    cues,
    width,
    height,
    count: countOf(request, cues.text),
    seed: request.seed,
    references: request.image?.length ?? 0,
  };
}

/** A sequence is as long as the prompt says (“three pictures”), or else as long as it may be. */
function countOf(request: ImageRequestBody, prompt: string): number {
  if (request.sequential_image_generation !== "auto") return 1;
  const most = request.sequential_image_generation_options?.max_images;
  const [, digits, word] = NUMBER.exec(prompt) ?? [];
  const named = word ? words.indexOf(word.toLowerCase()) + 2 : Number(digits ?? 0);
  return Math.min(named || (most ?? USUAL_SEQUENCE), most ?? LONGEST_SEQUENCE, LONGEST_SEQUENCE);
}
