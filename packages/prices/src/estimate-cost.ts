import type { ChatModel, ChatRequest, ImageModel, ImageRequest, VideoRequest } from "@sluice/core";
import { isRecord } from "@sluice/core/extend";
import { models } from "@sluice/core/schemas";
import { pricePieces, priceTokens, writeAmount } from "./money.js";
import { type Prices, type Rates, readRateTable } from "./prices.js";
import { type Cost, type CostOrReason, createTally, findRate, type MissingReason } from "./tally.js";
import { calculateVideoCost, findVideoModel, readCount, readRequestMetadata } from "./video-cost.js";

/** The estimated cost of a request. `amount` is the maximum. */
export interface Estimate extends Cost {
  /** The minimum cost of a successful request. Equals `amount` if the request's fields decide the cost. */
  readonly min: number;
}

/** The `model` and the fields that decide the cost. */
interface PartialRequest {
  /** Id of the model. */
  readonly model: string;
  readonly [field: string]: unknown;
}

/** Minimum and maximum of a cost, or the reason why the maximum is unknown. */
type Range = MissingReason | { readonly min: bigint; readonly max: bigint };

/**
 * Estimates the cost of a request before it is sent. It needs only the `model` and the fields that decide the cost.
 *
 * - images: their number and size. A sequence costs from one image to `max_images`
 * - videos: length, resolution and sound, with the model's defaults. With the duration -1 the model chooses
 * - chats: an upper bound. One token per byte of the request, because no tokenizer produces more, 10,000 per image, and
 *   `max_tokens`
 *
 * @throws {TypeError} for an invalid table (see {@link definePrices})
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
  const tally = createTally(readRateTable(prices));
  let min = 0n;
  tally.add(request.model, (rates) => {
    const range = estimateRange(rates, request as Request);
    if (typeof range === "string") return range;
    min = range.min;
    return range.max;
  });
  return { ...tally.cost(), min: writeAmount(min) };
}

type Request = Readonly<Record<string, unknown>> & { readonly model: string };

function estimateRange(rates: Rates, request: Request): Range {
  const { model } = request;
  if (rates.asset !== undefined) return toExactRange(pricePieces(rates.asset as bigint, 1));
  if (rates.image !== undefined || models[model as ImageModel]?.kind === "image")
    return estimateImages(rates, request);
  if (rates.second !== undefined || findVideoModel(model)) return estimateVideo(rates, request);
  return estimateChat(rates, request);
}

function estimateImages(rates: Rates, { size, n, ...request }: Request): Range {
  if (rates.image === undefined) return rates.output === undefined ? "no-price" : "no-usage";
  const price = findRate(rates, "image", size as string | undefined);
  if (typeof price !== "bigint") return price;
  const sequence = request["sequential_image_generation"];
  const isSingle = sequence === undefined || sequence === "disabled";
  const options = request["sequential_image_generation_options"];
  const max = isSingle
    ? readCount(countResponses(n))
    : isRecord(options)
      ? readCount(options["max_images"])
      : undefined;
  if (isSingle && max) return toExactRange(pricePieces(price, max));
  return max ? { min: pricePieces(price, 1), max: pricePieces(price, max) } : "no-limit";
}

function estimateVideo(rates: Rates, request: Request): Range {
  const metadata = readRequestMetadata(request);
  const { duration }: { readonly duration?: Readonly<Record<string, number>> } =
    findVideoModel(request.model) ?? {};
  const isLengthOpen = metadata.seconds === undefined && duration?.["auto"] !== undefined;
  const [min, max] = isLengthOpen
    ? [duration["min"], duration["max"]].map((seconds) => calculateVideoCost(rates, { ...metadata, seconds }))
    : [calculateVideoCost(rates, metadata), calculateVideoCost(rates, metadata)];
  return toRange(min, max);
}

function toRange(min: CostOrReason | undefined, max: CostOrReason | undefined): Range {
  if (typeof max !== "bigint" || typeof min !== "bigint") return (max ?? "no-usage") as MissingReason;
  return { min, max };
}

function estimateChat(rates: Rates, request: Request): Range {
  const { input, output } = rates as Partial<Record<keyof Rates, bigint>>;
  if (input === undefined || output === undefined) return "no-price";
  const max = readCount(request["max_tokens"]) ?? models[request.model as ChatModel]?.maxTokens;
  if (max === undefined) return "no-limit";
  const tokens = readCount(max * countResponses(request["n"]));
  if (tokens === undefined) return "no-limit";
  return { min: 0n, max: priceTokens(input, countRequestTokens(request)) + priceTokens(output, tokens) };
}

function countResponses(n: unknown): number {
  return Math.max(1, Math.ceil(Number(n)) || 1);
}

/** Counts one token per byte. An image with a data URI counts as an image, not by its bytes. */
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

function toExactRange(cost: bigint): Range {
  return { min: cost, max: cost };
}
