import type { Outcome } from "../../vocabulary/errors.js";
import type { ToolCall } from "./message-schema.js";

/**
 * Tokens that were used. Every model reports the first three, others where it has them (spec, Chat
 * completion).
 */
export interface ChatUsage {
  /** Tokens of the request. */
  readonly prompt_tokens: number;
  /** Tokens of the answer. */
  readonly completion_tokens: number;
  /** Tokens of request and answer. */
  readonly total_tokens: number;
  /** Parts of `prompt_tokens`; absent where the model reports none. */
  readonly prompt_tokens_details?: {
    /** Tokens of the request that the gateway had in its cache. */
    readonly cached_tokens?: number;
  } | null;
  /** Tokens of the request that the gateway had in its cache. `alpha-v4.1-flash` only. */
  readonly prompt_cache_hit_tokens?: number;
  /** Tokens of the request that the gateway did not have in its cache. `alpha-v4.1-flash` only. */
  readonly prompt_cache_miss_tokens?: number;
  /** Parts of `completion_tokens`; absent where the model reports none. */
  readonly completion_tokens_details?: {
    /** Tokens of the thinking. */
    readonly reasoning_tokens?: number;
  } | null;
}

/** One step of an answer. A `finish` comes once, at the end. */
export type ChatDelta =
  | {
      /** A piece of the answer's text. */
      readonly type: "text-delta";
      /** The piece, to be appended. Never empty. */
      readonly text: string;
    }
  | {
      /** A piece of the model's thinking. */
      readonly type: "reasoning-delta";
      /** The piece, to be appended. Never empty. */
      readonly text: string;
    }
  | {
      /** The beginning of a tool call. */
      readonly type: "tool-call-start";
      /** Position of the call in the message, from 0. */
      readonly index: number;
      /** Id of the call. */
      readonly id: string;
      /** Name of the function. */
      readonly name: string;
    }
  | {
      /** A piece of a tool call's arguments. */
      readonly type: "tool-call-delta";
      /** Position of the call in the message, from 0. */
      readonly index: number;
      /** The piece of JSON text, to be appended. */
      readonly arguments: string;
    }
  | {
      /** A whole tool call. */
      readonly type: "tool-call";
      /** Position of the call in the message, from 0. */
      readonly index: number;
      /** The call with all of its arguments. */
      readonly toolCall: ToolCall;
    }
  | {
      /** Tokens that were used. It may come more than once; the last one counts. */
      readonly type: "usage";
      /** The counts so far. */
      readonly usage: ChatUsage;
    }
  | {
      /** The end of the answer. It comes once, last, when `result()` has settled. */
      readonly type: "finish";
      /** `finish_reason` as the gateway sent it; null where it sent none. */
      readonly finishReason: string | null;
      /** Ending of the answer. */
      readonly outcome: Outcome;
    };

/** Message of the model, in the form that the next request sends back. */
export interface AssistantMessage {
  /** Author of the message: the model. */
  readonly role: "assistant";
  /** Text of the answer; empty where it only calls tools. */
  readonly content: string;
  /** Thinking of the model; absent where the model showed none. Send it back unchanged. */
  readonly reasoning_content?: string;
  /** Tool calls of the answer, in the order of the model. */
  readonly tool_calls?: readonly ToolCall[];
}

/** A tool call that the model made. */
export interface ChatToolCall {
  /** Id of the call; the `tool` message with its result carries it as `tool_call_id`. */
  readonly id: string;
  /** Name of the function, as in `tools`. */
  readonly name: string;
  /** The arguments as the model wrote them. */
  readonly arguments: string;
  /** The arguments as a value; undefined where the text is not valid JSON, as in an answer that was cut. */
  readonly input: unknown;
}

/** Speed of an answer, measured from the call of `streamChat` or `completeChat`. */
export interface ChatTiming {
  /** Milliseconds until the first text, thinking or tool call; undefined where none came. */
  readonly firstTokenMs?: number;
  /** Milliseconds until the end of the answer. */
  readonly totalMs: number;
  /** `usage.completion_tokens` over the time after the first token; undefined without usage. */
  readonly tokensPerSecond?: number;
}

/** Another answer to the same request, from services that support `n` > 1. */
export interface ChatAlternative {
  /** The message. Append it to `messages` in place of the first answer. */
  readonly message: AssistantMessage;
  /** `finish_reason` as the gateway sent it; null where it sent none. */
  readonly finishReason: string | null;
}

/** A whole answer. */
export interface ChatResult {
  /** Message of the model. Append it to `messages` for the next request. */
  readonly message: AssistantMessage;
  /** Tool calls of the answer, with their arguments as values. Empty where there are none. */
  readonly toolCalls: readonly ChatToolCall[];
  /** `finish_reason` as the gateway sent it; null where it sent none, and the outcome is `unconfirmed`. */
  readonly finishReason: string | null;
  /** Ending of the answer. Only `complete` and `tool-calls` are whole answers. */
  readonly outcome: Outcome;
  /** Tokens that were used; absent where the gateway did not report them. */
  readonly usage?: ChatUsage;
  /** Model that answered. The request's model where the answer names none. */
  readonly model: string;
  /** Id of the answer; empty where it has none. */
  readonly id: string;
  /** Speed of the answer. */
  readonly timing: ChatTiming;
  /** Reason why the model refused to answer, where it gave one. */
  readonly refusal?: string;
  /** The other answers of a request with `n` > 1; absent where there is only one. */
  readonly alternatives?: readonly ChatAlternative[];
  /** Answer of the gateway, unchanged, with unknown fields; of a stream, the last chunk. */
  readonly raw: unknown;
}
