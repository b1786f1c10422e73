import { isRecord } from "@sluice/core/extend";
import { pricePieces, priceTokens } from "./money.js";
import type { Rates } from "./prices.js";
import { type CostOrReason, findRate } from "./tally.js";
import { readCount } from "./video-cost.js";

/** Calculates the cost of a chat response from its `usage`. Unreported cached tokens count as zero. */
export function calculateChatCost(rates: Rates, usage: unknown): CostOrReason {
  const { input, cachedInput = input, output } = rates as Partial<Record<keyof Rates, bigint>>;
  if (input === undefined || cachedInput === undefined || output === undefined) return "no-price";
  if (!isRecord(usage)) return "no-usage";
  const prompt = readCount(usage["prompt_tokens"]);
  const completion = readCount(usage["completion_tokens"]);
  if (prompt === undefined || completion === undefined) return "no-usage";
  const cached = Math.min(prompt, countCachedTokens(usage));
  return (
    priceTokens(input, prompt - cached) + priceTokens(cachedInput, cached) + priceTokens(output, completion)
  );
}

function countCachedTokens({
  prompt_tokens_details: details,
  ...usage
}: Readonly<Record<string, unknown>>): number {
  const detailed = isRecord(details) ? readCount(details["cached_tokens"]) : undefined;
  return detailed ?? readCount(usage["prompt_cache_hit_tokens"]) ?? 0;
}

/**
 * Calculates the cost of images: by size if the model has a price per image, otherwise by tokens.
 *
 * @param sizes the size of each generated image; undefined if unknown
 */
export function calculateImageCost(
  rates: Rates,
  usage: unknown,
  sizes: readonly (string | undefined)[] | undefined,
): CostOrReason {
  const counts = isRecord(usage) ? usage : {};
  if (rates.image !== undefined) {
    const imageCount = readCount(counts["generated_images"]) ?? sizes?.length;
    if (imageCount === undefined) return "no-usage";
    return sizes?.length === imageCount
      ? sumPrices(sizes.map((size) => findRate(rates, "image", size)))
      : priceEqualImages(rates, imageCount, sizes);
  }
  if (rates.output === undefined) return "no-price";
  const output = readCount(counts["output_tokens"]);
  const total = readCount(counts["total_tokens"]);
  if (output === undefined) return "no-usage";
  const cost = priceTokens(rates.output as bigint, output);
  if (rates.input === undefined) return cost;
  return total === undefined
    ? "no-usage"
    : cost + priceTokens(rates.input as bigint, Math.max(0, total - output));
}

/** Calculates the cost of images from their number and, if known, their common size. */
function priceEqualImages(
  rates: Rates,
  imageCount: number,
  [size, ...others]: readonly (string | undefined)[] = [],
): CostOrReason {
  const price = findRate(rates, "image", others.every((other) => other === size) ? size : undefined);
  return typeof price === "bigint" ? pricePieces(price, imageCount) : price;
}

function sumPrices(prices: readonly CostOrReason[]): CostOrReason {
  let sum = 0n;
  for (const price of prices) {
    if (typeof price !== "bigint") return price;
    sum += pricePieces(price, 1);
  }
  return sum;
}
