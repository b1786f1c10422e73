import type { ChatRequest, ChatRequestMessage } from "@sluice/core";
import { hash } from "../server/hash.js";
import type { ChatFamily } from "./job.js";
import { textOf } from "./message-text.js";
import { countTokens } from "./tokens.js";

/** Tokens of a request and its answer. */
export interface TokenCounts {
  readonly prompt: number;
  /** Part of `prompt` that an earlier request shares with this one. */
  readonly cached: number;
  readonly completion: number;
  /** Part of `completion` that is thinking. */
  readonly reasoning: number;
}

const PER_MESSAGE = 4;
const PER_IMAGE = 256;
const MOST_PREFIXES = 2000;

/** The parts of `usage` that one family of models has, and others have not (spec, Chat completion). */
const details: { readonly [Family in ChatFamily]?: (counts: TokenCounts) => object } = {
  alpha: ({ prompt, cached }) => ({
    prompt_tokens_details: { cached_tokens: cached },
    prompt_cache_hit_tokens: cached,
    prompt_cache_miss_tokens: prompt - cached,
  }),
  delta: ({ reasoning }) => ({ completion_tokens_details: { reasoning_tokens: reasoning } }),
};

/** Makes the `usage` of an answer: what all models report, and the parts of its family. */
export function usageOf(family: ChatFamily, counts: TokenCounts) {
  const { prompt, completion } = counts;
  const total = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  return { ...total, ...details[family]?.(counts) };
}

/**
 * Creates a prompt cache. The first messages that a request shares with an earlier one of the same key, model, tools
 * and `user_id` count as cached. It holds 2,000 beginnings.
 */
export function createPromptCache() {
  const prefixes = new Set<string>();
  return { read, clear: () => prefixes.clear() };

  function read(request: ChatRequest, owner: string): { prompt: number; cached: number } {
    const tools = "tools" in request && request.tools ? JSON.stringify(request.tools) : "";
    const user = "user_id" in request ? request.user_id : undefined;
    let prefix = hash(JSON.stringify([owner, request.model, user, tools]));
    let prompt = countTokens(tools);
    let cached = 0;
    for (const message of request.messages) {
      prefix = hash(prefix + JSON.stringify(message));
      prompt += tokensOf(message);
      if (prefixes.has(prefix)) cached = prompt;
      remember(prefix);
    }
    return { prompt, cached };
  }

  function remember(prefix: string) {
    prefixes.delete(prefix);
    prefixes.add(prefix);
    for (const oldest of prefixes) {
      if (prefixes.size <= MOST_PREFIXES) break;
      prefixes.delete(oldest);
    }
  }
}

function tokensOf(message: ChatRequestMessage): number {
  const { content, reasoning_content, tool_calls } = message;
  const images = typeof content === "object" ? content?.filter(({ type }) => type === "image_url").length : 0;
  const calls = tool_calls?.length ? JSON.stringify(tool_calls) : "";
  const text = countTokens(textOf(message)) + countTokens(reasoning_content ?? "") + countTokens(calls);
  return PER_MESSAGE + PER_IMAGE * (images ?? 0) + text;
}
