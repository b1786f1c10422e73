import type { LanguageModelV4FinishReason, LanguageModelV4Usage } from "@ai-sdk/provider";
import type { ChatResult, ChatUsage, Outcome } from "@sluice/core";

/** Converts usage to the SDK's shape. All counts are undefined if the gateway reported none. */
export function toUsage(usage: ChatUsage | undefined): LanguageModelV4Usage {
  const cacheRead = usage?.prompt_cache_hit_tokens ?? usage?.prompt_tokens_details?.cached_tokens;
  const reasoning = usage?.completion_tokens_details?.reasoning_tokens;
  return {
    inputTokens: {
      total: usage?.prompt_tokens,
      noCache: subtract(usage?.prompt_tokens, cacheRead),
      cacheRead,
      cacheWrite: undefined,
    },
    outputTokens: {
      total: usage?.completion_tokens,
      text: subtract(usage?.completion_tokens, reasoning),
      reasoning,
    },
    ...(usage && { raw: { ...usage } }),
  };
}

function subtract(total: number | undefined, part: number | undefined): number | undefined {
  return total === undefined || part === undefined ? undefined : total - part;
}

const reasons: Readonly<Partial<Record<Outcome, LanguageModelV4FinishReason["unified"]>>> = {
  complete: "stop",
  length: "length",
  "content-filter": "content-filter",
  "tool-calls": "tool-calls",
  "insufficient-resource": "error",
  // without a `finish_reason`, a part may be missing
  unconfirmed: "interrupted",
};

/** Converts an outcome to the SDK's finish reason. */
export function toFinishReason({
  outcome,
  finishReason,
}: Pick<ChatResult, "outcome" | "finishReason">): LanguageModelV4FinishReason {
  return { unified: reasons[outcome] ?? "error", raw: finishReason ?? undefined };
}
