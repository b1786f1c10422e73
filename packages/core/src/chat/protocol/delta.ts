import type { Outcome } from "../../types/errors.js";
import type { ToolCall } from "./message-schema.js";

/**
 * Tokens of a call. Every model reports the first three fields (spec, Chat completion). The other fields are optional.
 */
export interface ChatUsage {
  /** Tokens of the request. */
  readonly prompt_tokens: number;
  /** Tokens of the response. */
  readonly completion_tokens: number;
  /** Tokens of the request and the response. */
  readonly total_tokens: number;
  /** Details of `prompt_tokens`; absent if the model does not report them. */
  readonly prompt_tokens_details?: {
    /** Tokens of the request that came from the gateway's cache. */
    readonly cached_tokens?: number;
  } | null;
  /** Tokens of the request that came from the gateway's cache. `alpha-v4.1-flash` only. */
  readonly prompt_cache_hit_tokens?: number;
  /** Tokens of the request that did not come from the gateway's cache. `alpha-v4.1-flash` only. */
  readonly prompt_cache_miss_tokens?: number;
  /** Details of `completion_tokens`; absent if the model does not report them. */
  readonly completion_tokens_details?: {
    /** Tokens of the thinking. */
    readonly reasoning_tokens?: number;
  } | null;
}

/** One step of a response. A `finish` comes once, at the end. */
export type ChatDelta =
  | {
      /** A piece of the response's text. */
      readonly type: "text-delta";
      /** Text to append. Never empty. */
      readonly text: string;
    }
  | {
      /** A piece of the model's thinking. */
      readonly type: "reasoning-delta";
      /** Text to append. Never empty. */
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
      /** JSON text to append. */
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
      /** Tokens of the call. It may come more than once. The last one counts. */
      readonly type: "usage";
      /** The counts so far. */
      readonly usage: ChatUsage;
    }
  | {
      /** The end of the response. It comes once, last, when `result()` has settled. */
      readonly type: "finish";
      /** `finish_reason` as the gateway sent it; null if it sent none. */
      readonly finishReason: string | null;
      /** Outcome of the response. */
      readonly outcome: Outcome;
    };

/** Message of the model, as the next request sends it back. */
export interface AssistantMessage {
  /** Author of the message: the model. */
  readonly role: "assistant";
  /** Text of the message; empty if the model only calls tools. */
  readonly content: string;
  /** Thinking of the model; absent if the model showed none. Send it back unchanged. */
  readonly reasoning_content?: string;
  /** Tool calls of the message, in the model's order. */
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
  /** The arguments as a value; undefined if the text is not valid JSON, as in a truncated response. */
  readonly input: unknown;
}

/** Speed of a response, measured from the call of `streamChat` or `completeChat`. */
export interface ChatTiming {
  /** Milliseconds until the first text, thinking or tool call; undefined if none came. */
  readonly firstTokenMs?: number;
  /** Milliseconds until the end of the response. */
  readonly totalMs: number;
  /** `usage.completion_tokens` per second after the first token; undefined without usage. */
  readonly tokensPerSecond?: number;
}

/** Another response to the same request, from services that support `n` > 1. */
export interface ChatAlternative {
  /** The message. Append it to `messages` in place of the first response. */
  readonly message: AssistantMessage;
  /** `finish_reason` as the gateway sent it; null if it sent none. */
  readonly finishReason: string | null;
}

/** A whole response. */
export interface ChatResult {
  /** Message of the model. Append it to `messages` for the next request. */
  readonly message: AssistantMessage;
  /** Tool calls of the response, with their arguments as values. Empty if there are none. */
  readonly toolCalls: readonly ChatToolCall[];
  /** `finish_reason` as the gateway sent it; null if it sent none; the outcome is then `unconfirmed`. */
  readonly finishReason: string | null;
  /** Outcome of the response. Only `complete` and `tool-calls` mean a whole response. */
  readonly outcome: Outcome;
  /** Tokens of the call; absent if the gateway did not report them. */
  readonly usage?: ChatUsage;
  /** Model that responded. The request's model if the response names none. */
  readonly model: string;
  /** Id of the response; empty if it has none. */
  readonly id: string;
  /** Speed of the response. */
  readonly timing: ChatTiming;
  /** Reason why the model refused to respond, if it gave one. */
  readonly refusal?: string;
  /** The other responses of a request with `n` > 1; absent if there is only one. */
  readonly alternatives?: readonly ChatAlternative[];
  /** The gateway's response, unchanged, with unknown fields; for a stream, the last chunk. */
  readonly raw: unknown;
}
