import { isRecord } from "./is-record.js";
import { ofPieces, ofTokens } from "./money.js";
import type { Rates } from "./prices.js";
import { type Known, rateOf } from "./tally.js";
import { countOf } from "./video-cost.js";

/** Counts the cost of a chat answer by its `usage`. Cached tokens that it does not report are none. */
export function chatCost(rates: Rates, usage: unknown): Known {
  const { input, cachedInput = input, output } = rates as Partial<Record<keyof Rates, bigint>>;
  if (input === undefined || cachedInput === undefined || output === undefined) return "no-price";
  if (!isRecord(usage)) return "no-usage";
  const prompt = countOf(usage["prompt_tokens"]);
  const completion = countOf(usage["completion_tokens"]);
  if (prompt === undefined || completion === undefined) return "no-usage";
  const cached = Math.min(prompt, cachedTokensOf(usage));
  return ofTokens(input, prompt - cached) + ofTokens(cachedInput, cached) + ofTokens(output, completion);
}

function cachedTokensOf({
  prompt_tokens_details: details,
  ...usage
}: Readonly<Record<string, unknown>>): number {
  const inDetails = isRecord(details) ? countOf(details["cached_tokens"]) : undefined;
  return inDetails ?? countOf(usage["prompt_cache_hit_tokens"]) ?? 0;
}

/**
 * Counts the cost of images: each by its size where the model has a price for images, otherwise by their tokens.
 *
 * @param sizes the size of each image that was made; undefined where the images are not known
 */
export function imageCost(
  rates: Rates,
  usage: unknown,
  sizes: readonly (string | undefined)[] | undefined,
): Known {
  const counts = isRecord(usage) ? usage : {};
  if (rates.image !== undefined) {
    const made = countOf(counts["generated_images"]) ?? sizes?.length;
    if (made === undefined) return "no-usage";
    return sizes?.length === made
      ? sumOf(sizes.map((size) => rateOf(rates, "image", size)))
      : alike(rates, made, sizes);
  }
  if (rates.output === undefined) return "no-price";
  const output = countOf(counts["output_tokens"]);
  const total = countOf(counts["total_tokens"]);
  if (output === undefined) return "no-usage";
  const cost = ofTokens(rates.output as bigint, output);
  if (rates.input === undefined) return cost;
  return total === undefined
    ? "no-usage"
    : cost + ofTokens(rates.input as bigint, Math.max(0, total - output));
}

/** Counts images of which only the number is known, and perhaps one size of all. */
function alike(rates: Rates, made: number, [size, ...others]: readonly (string | undefined)[] = []): Known {
  const price = rateOf(rates, "image", others.every((other) => other === size) ? size : undefined);
  return typeof price === "bigint" ? ofPieces(price, made) : price;
}

function sumOf(prices: readonly Known[]): Known {
  let sum = 0n;
  for (const price of prices) {
    if (typeof price !== "bigint") return price;
    sum += ofPieces(price, 1);
  }
  return sum;
}
