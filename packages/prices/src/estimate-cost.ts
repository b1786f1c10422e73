import type { ChatRequest, ImageRequest, VideoRequest } from "@sluice/core";
import { findChatModel, findImageModel, findVideoModel } from "@sluice/core/internal";
import { isRecord } from "./is-record.js";
import { ofPieces, ofTokens, writeAmount } from "./money.js";
import { type Prices, type Rates, rateTableOf } from "./prices.js";
import { type Cost, createTally, type Known, type MissingReason, rateOf } from "./tally.js";
import { countOf, requestedFacts, videoCost } from "./video-cost.js";

/** The cost of a request before it is sent. `amount` is the maximum. */
export interface Estimate extends Cost {
  /** The minimum cost of the request if it succeeds. Equals `amount` where the fields of the request decide the cost. */
  readonly min: number;
}

/** The `model`, and the fields of the request that decide its cost. */
interface PartialRequest {
  /** Id of the model. */
  readonly model: string;
  readonly [field: string]: unknown;
}

/** Minimum and maximum of a cost, or why the maximum is not known. */
type Range = MissingReason | { readonly min: bigint; readonly max: bigint };

/**
 * Estimates the cost of a request before it is sent. The `model` and the fields that decide the cost are enough.
 *
 * - images: their number and size. A sequence costs from one image to `max_images`
 * - videos: length, resolution and sound, with the model's defaults. With the duration -1 the model chooses
 * - chats: an upper bound. One token for each byte of the request, because no tokenizer makes more, 10,000 for each image,
 *   and `max_tokens`
 *
 * @throws {TypeError} for a table that {@link definePrices} refuses
 * @example
 * ```ts
 * const prices = definePrices({ currency: "EUR", models: { "beta3.0-video": { second: { "720P": 0.05 } } } });
 * const { min, amount, missing } = estimateCost(
 *   { model: "beta3.0-video", parameters: { duration: 8, resolution: "720P" } },
 *   prices,
 * );
 * ```
 */
export function estimateCost(
  request: ChatRequest | ImageRequest | VideoRequest | PartialRequest,
  prices: Prices,
): Estimate {
  const tally = createTally(rateTableOf(prices));
  let min = 0n;
  tally.add(request.model, (rates) => {
    const range = rangeOf(rates, request as Request);
    if (typeof range === "string") return range;
    min = range.min;
    return range.max;
  });
  return { ...tally.cost(), min: writeAmount(min) };
}

type Request = Readonly<Record<string, unknown>> & { readonly model: string };

function rangeOf(rates: Rates, request: Request): Range {
  const { model } = request;
  if (rates.asset !== undefined) return exactly(ofPieces(rates.asset as bigint, 1));
  if (rates.image !== undefined || findImageModel(model)) return imageRange(rates, request);
  if (rates.second !== undefined || findVideoModel(model)) return videoRange(rates, request);
  return chatRange(rates, request);
}

function imageRange(rates: Rates, { size, n, ...request }: Request): Range {
  if (rates.image === undefined) return rates.output === undefined ? "no-price" : "no-usage";
  const price = rateOf(rates, "image", size as string | undefined);
  if (typeof price !== "bigint") return price;
  const sequence = request["sequential_image_generation"];
  const isOne = sequence === undefined || sequence === "disabled";
  const options = request["sequential_image_generation_options"];
  const max = isOne
    ? countOf(countResponses(n))
    : isRecord(options)
      ? countOf(options["max_images"])
      : undefined;
  if (isOne && max) return exactly(ofPieces(price, max));
  return max ? { min: ofPieces(price, 1), max: ofPieces(price, max) } : "no-limit";
}

function videoRange(rates: Rates, request: Request): Range {
  const facts = requestedFacts(request);
  const { duration }: { readonly duration?: Readonly<Record<string, number>> } =
    findVideoModel(request.model) ?? {};
  const isChosen = facts.seconds === undefined && duration?.["auto"] !== undefined;
  const [min, max] = isChosen
    ? [duration["min"], duration["max"]].map((seconds) => videoCost(rates, { ...facts, seconds }))
    : [videoCost(rates, facts), videoCost(rates, facts)];
  return rangeFrom(min, max);
}

function rangeFrom(min: Known | undefined, max: Known | undefined): Range {
  if (typeof max !== "bigint" || typeof min !== "bigint") return (max ?? "no-usage") as MissingReason;
  return { min, max };
}

function chatRange(rates: Rates, request: Request): Range {
  const { input, output } = rates as Partial<Record<keyof Rates, bigint>>;
  if (input === undefined || output === undefined) return "no-price";
  const max = countOf(request["max_tokens"]) ?? findChatModel(request.model)?.maxTokens;
  if (max === undefined) return "no-limit";
  const tokens = countOf(max * countResponses(request["n"]));
  if (tokens === undefined) return "no-limit";
  return { min: 0n, max: ofTokens(input, countRequestTokens(request)) + ofTokens(output, tokens) };
}

function countResponses(n: unknown): number {
  return Math.max(1, Math.ceil(Number(n)) || 1);
}

/** A data URI counts as an image, not by its bytes. Text that only looks like a data URI counts as text. */
function countRequestTokens(request: Request): number {
  const images = [request["messages"]].flat().flatMap((message) => findImages(message as Message));
  const embedded = images.reduce((sum, url) => sum + (/^data:/i.test(url) ? url.length : 0), 0);
  const bytes = new TextEncoder().encode(JSON.stringify(request)).length - embedded;
  return bytes + images.length * TOKENS_PER_IMAGE;
}

const TOKENS_PER_IMAGE = 10_000;

type Message =
  | { readonly content?: readonly { readonly image_url?: { readonly url?: unknown } }[] }
  | undefined;

function findImages(message: Message): readonly string[] {
  const urls = [message?.content].flat().map((part) => part?.image_url?.url);
  return urls.filter((url) => typeof url === "string");
}

function exactly(cost: bigint): Range {
  return { min: cost, max: cost };
}
