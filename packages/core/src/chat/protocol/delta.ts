import type { ToolCall } from "./request-body.js";

/** Token counts; every model sends the first three, the rest where it has them (spec, Usage). */
export interface ChatUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly prompt_tokens_details?: { readonly cached_tokens?: number } | null;
  readonly prompt_cache_hit_tokens?: number;
  readonly prompt_cache_miss_tokens?: number;
  readonly completion_tokens_details?: { readonly reasoning_tokens?: number } | null;
}

/** How an answer ended, told apart by what the reader should do about it. */
export type ChatOutcome =
  | "complete"
  | "length"
  | "content-filter"
  | "tool-calls"
  | "insufficient-resource"
  | "stopped"
  | "truncated"
  | "error";

/**
 * One step of an answer. `index` counts the tool calls of the message from 0. A `tool-call` says that the call's
 * arguments are whole; `usage` may come more than once, the last one counts; `finish` comes once, last.
 */
export type ChatDelta =
  | { readonly type: "text-delta"; readonly text: string }
  | { readonly type: "reasoning-delta"; readonly text: string }
  | { readonly type: "tool-call-start"; readonly index: number; readonly id: string; readonly name: string }
  | { readonly type: "tool-call-delta"; readonly index: number; readonly arguments: string }
  | { readonly type: "tool-call"; readonly index: number; readonly toolCall: ToolCall }
  | { readonly type: "usage"; readonly usage: ChatUsage }
  | { readonly type: "finish"; readonly finishReason: string | null; readonly outcome: ChatOutcome };

/** The assistant's message, in the form in which it is sent back in the next request. */
export interface ChatMessage {
  readonly role: "assistant";
  readonly content: string;
  /** The model's thinking, where it showed any. */
  readonly reasoning_content?: string;
  readonly tool_calls?: readonly ToolCall[];
}
