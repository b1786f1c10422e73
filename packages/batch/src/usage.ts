import type { BatchResults } from "./item.js";
import type { BatchKind } from "./request.js";
import type { BatchUsage } from "./state.js";

const none: BatchUsage = {
  requests: 0,
  images: 0,
  videos: 0,
  promptTokens: 0,
  outputTokens: 0,
  totalTokens: 0,
};

/** Adds a result to the sums of its model. */
export function addResult(
  sums: BatchUsage = none,
  kind: BatchKind,
  result: BatchResults[BatchKind],
): BatchUsage {
  const { usage = {}, images = [] } = result as {
    readonly usage?: Readonly<Record<string, number | undefined>>;
    readonly images?: BatchResults["image"]["images"];
  };
  const {
    prompt_tokens = 0,
    completion_tokens = 0,
    output_tokens = completion_tokens,
    total_tokens = 0,
  } = usage;
  return {
    requests: sums.requests + 1,
    images: sums.images + images.filter(({ url }) => url !== undefined).length,
    videos: sums.videos + (kind === "video" ? 1 : 0),
    promptTokens: sums.promptTokens + prompt_tokens,
    outputTokens: sums.outputTokens + output_tokens,
    totalTokens: sums.totalTokens + total_tokens,
  };
}
