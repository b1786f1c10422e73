import { chatModelOf, imageModelOf, isRecord, videoModelOf } from "@sluice/core/internal";
import type { ChatRequest, ImageRequest, VideoRequest } from "@sluice/core/schemas";
import { ofPieces, ofTokens, writeAmount } from "./money.js";
import { type Prices, type Rates, rateTableOf } from "./prices.js";
import { requestTokens } from "./request-tokens.js";
import { type Cost, createTally, type Known, type MissingReason, rateOf } from "./tally.js";
import { countOf, requestedFacts, videoCost } from "./video-cost.js";

/** The cost of a request before it is sent. `amount` is the most that it can cost. */
export interface Estimate extends Cost {
  /** The least that the request costs if it succeeds. The same as `amount` where its fields decide the cost. */
  readonly least: number;
}

/** A request whose cost can be estimated: one of the client's, or its `model` and the fields that decide its cost. */
export type EstimatedRequest = ChatRequest | ImageRequest | VideoRequest | PartialRequest;

/** A part of a request. */
export interface PartialRequest {
  /** Id of the model. */
  readonly model: string;
  /** The fields of the request that decide its cost. */
  readonly [field: string]: unknown;
}

/** Least and most of a cost, or why the most is not known. */
type Range = MissingReason | { readonly least: bigint; readonly most: bigint };

/**
 * Estimates the cost of a request before it is sent. It needs no whole request: the `model` and the fields that decide the
 * cost are enough.
 *
 * - images: their number and size. A sequence costs from one image to `max_images`
 * - videos: length, resolution and sound, with the model's defaults. With the duration -1 the model chooses
 * - chats: an upper bound. A token for each byte of the request, because no tokenizer makes more, 10,000 for each image,
 *   and `max_tokens`
 *
 * @throws {TypeError} for a table that {@link definePrices} refuses
 * @example
 * ```ts
 * const prices = definePrices({ currency: "EUR", models: { "beta3.0-video": { second: { "720P": 0.05 } } } });
 * const { amount, least, missing } = estimate(
 *   { model: "beta3.0-video", parameters: { duration: 8, resolution: "720P" } },
 *   prices,
 * );
 * ```
 */
export function estimate(request: EstimatedRequest, prices: Prices): Estimate {
  const table = rateTableOf(prices);
  const tally = createTally(table);
  const { model } = request;
  let least: bigint | undefined;
  tally.add(model, (rates) => {
    const range = rangeOf(rates, request as Request);
    if (typeof range === "string") return range;
    least = range.least;
    return range.most;
  });
  const cost = tally.cost();
  return { ...cost, least: writeAmount(least ?? 0n) };
}

type Request = Readonly<Record<string, unknown>> & { readonly model: string };

function rangeOf(rates: Rates, request: Request): Range {
  const { model } = request;
  if (rates.asset !== undefined) return exactly(ofPieces(rates.asset as bigint, 1));
  if (rates.image !== undefined || imageModelOf(model)) return imageRange(rates, request);
  if (rates.second !== undefined || videoModelOf(model)) return videoRange(rates, request);
  return chatRange(rates, request);
}

function imageRange(rates: Rates, { size, n, ...request }: Request): Range {
  if (rates.image === undefined) return rates.output === undefined ? "no-price" : "no-usage";
  const price = rateOf(rates, "image", size as string | undefined);
  if (typeof price !== "bigint") return price;
  const sequence = request["sequential_image_generation"];
  const isOne = sequence === undefined || sequence === "disabled";
  const options = request["sequential_image_generation_options"];
  const most = isOne ? countOf(answersOf(n)) : isRecord(options) ? countOf(options["max_images"]) : undefined;
  if (isOne && most) return exactly(ofPieces(price, most));
  return most ? { least: ofPieces(price, 1), most: ofPieces(price, most) } : "no-limit";
}

function videoRange(rates: Rates, request: Request): Range {
  const facts = requestedFacts(request);
  const { duration }: { readonly duration?: Readonly<Record<string, number>> } =
    videoModelOf(request.model) ?? {};
  const isChosen = facts.seconds === undefined && duration?.["auto"] !== undefined;
  const [least, most] = isChosen
    ? [duration["min"], duration["max"]].map((seconds) => videoCost(rates, { ...facts, seconds }))
    : [videoCost(rates, facts), videoCost(rates, facts)];
  return rangeFrom(least, most);
}

function rangeFrom(least: Known | undefined, most: Known | undefined): Range {
  if (typeof most !== "bigint" || typeof least !== "bigint") return (most ?? "no-usage") as MissingReason;
  return { least, most };
}

function chatRange(rates: Rates, request: Request): Range {
  const { input, output } = rates as Partial<Record<keyof Rates, bigint>>;
  if (input === undefined || output === undefined) return "no-price";
  const most = countOf(request["max_tokens"]) ?? chatModelOf(request.model)?.maxTokens;
  if (most === undefined) return "no-limit";
  const tokens = countOf(most * answersOf(request["n"]));
  if (tokens === undefined) return "no-limit";
  return { least: 0n, most: ofTokens(input, requestTokens(request)) + ofTokens(output, tokens) };
}

function answersOf(n: unknown): number {
  return Math.max(1, Math.ceil(Number(n)) || 1);
}

function exactly(cost: bigint): Range {
  return { least: cost, most: cost };
}
