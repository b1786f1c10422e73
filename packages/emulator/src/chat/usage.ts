import type { ChatRequest, ChatRequestMessage } from "@sluice/core";
import { deleteOldest } from "../server/bounded.js";
import { hash } from "../server/hash.js";
import type { ChatFamily } from "./job.js";
import { readText } from "./message-text.js";
import { countTokens } from "./tokens.js";

/** Tokens of a request and its reply. */
export interface TokenCounts {
  readonly prompt: number;
  /** Tokens of `prompt` that an earlier request began with. */
  readonly cached: number;
  readonly completion: number;
  /** Tokens of `completion` that are thinking. */
  readonly reasoning: number;
}

/** Tokens of a message without its content, and of an image. Both are assumptions. */
const PER_MESSAGE = 4;
const PER_IMAGE = 256;
const MAX_PREFIXES = 2000;

/** Fields of `usage` that only one family of models reports (spec, Chat completion). */
const details: { readonly [Family in ChatFamily]?: (counts: TokenCounts) => object } = {
  alpha: ({ prompt, cached }) => ({
    prompt_tokens_details: { cached_tokens: cached },
    prompt_cache_hit_tokens: cached,
    prompt_cache_miss_tokens: prompt - cached,
  }),
  delta: ({ reasoning }) => ({ completion_tokens_details: { reasoning_tokens: reasoning } }),
};

/** Creates the `usage` of a completion: the fields that all models report, and the fields of its family. */
export function toUsage(family: ChatFamily, counts: TokenCounts) {
  const { prompt, completion } = counts;
  const total = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  return { ...total, ...details[family]?.(counts) };
}

/**
 * Creates a prompt cache for 2,000 prefixes: the first messages of a request are cached if an earlier request with the
 * same key, model, tools and `user_id` began with them.
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
      prompt += countMessageTokens(message);
      if (prefixes.has(prefix)) cached = prompt;
      storePrefix(prefix);
    }
    return { prompt, cached };
  }

  function storePrefix(prefix: string) {
    prefixes.delete(prefix);
    prefixes.add(prefix);
    deleteOldest(prefixes, MAX_PREFIXES);
  }
}

function countMessageTokens(message: ChatRequestMessage): number {
  const { content, reasoning_content, tool_calls } = message;
  const images = typeof content === "object" ? content?.filter(({ type }) => type === "image_url").length : 0;
  const calls = tool_calls?.length ? JSON.stringify(tool_calls) : "";
  const text = countTokens(readText(message)) + countTokens(reasoning_content ?? "") + countTokens(calls);
  return PER_MESSAGE + PER_IMAGE * (images ?? 0) + text;
}
