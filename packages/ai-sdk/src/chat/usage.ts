import type { LanguageModelV4FinishReason, LanguageModelV4Usage } from "@ai-sdk/provider";
import type { ChatResult, ChatUsage, Outcome } from "@sluice/core";

/** Returns the tokens of an answer as the SDK counts them; all undefined where the gateway reported none. */
export function usageOf(usage: ChatUsage | undefined): LanguageModelV4Usage {
  const cacheRead = usage?.prompt_cache_hit_tokens ?? usage?.prompt_tokens_details?.cached_tokens;
  const reasoning = usage?.completion_tokens_details?.reasoning_tokens;
  return {
    inputTokens: {
      total: usage?.prompt_tokens,
      noCache: less(usage?.prompt_tokens, cacheRead),
      cacheRead,
      cacheWrite: undefined,
    },
    outputTokens: {
      total: usage?.completion_tokens,
      text: less(usage?.completion_tokens, reasoning),
      reasoning,
    },
    ...(usage && { raw: { ...usage } }),
  };
}

function less(total: number | undefined, part: number | undefined): number | undefined {
  return total === undefined || part === undefined ? undefined : total - part;
}

const reasons: Readonly<Partial<Record<Outcome, LanguageModelV4FinishReason["unified"]>>> = {
  complete: "stop",
  length: "length",
  "content-filter": "content-filter",
  "tool-calls": "tool-calls",
  "insufficient-resource": "error",
  // it ended without a `finish_reason`: a part may be missing
  unconfirmed: "interrupted",
};

/** Returns the ending of an answer in the SDK's words. */
export function finishReasonOf({
  outcome,
  finishReason,
}: Pick<ChatResult, "outcome" | "finishReason">): LanguageModelV4FinishReason {
  return { unified: reasons[outcome] ?? "error", raw: finishReason ?? undefined };
}
