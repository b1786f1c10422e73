import type { Issue, Outcome } from "./errors.js";
import type { mediaModels } from "./media-models.js";

/** Optional browser features. */
export type PlatformFeature = "web-locks" | "broadcast-channel" | "indexed-db" | "web-storage";

/** Purpose of a call. */
export type CallKind = "chat" | keyof typeof mediaModels | "epsilon" | "upload" | "archive";

/**
 * Counts of a response, under the gateway's names: tokens of a chat, images and tokens of an image request. Only
 * numbers: other values of the gateway's usage are omitted.
 */
export interface CallUsage {
  /** Tokens of a chat request. */
  readonly prompt_tokens?: number;
  /** Tokens of a chat response. */
  readonly completion_tokens?: number;
  /** All tokens of the call. */
  readonly total_tokens?: number;
  /** Details of `prompt_tokens`; absent if the model does not report them. */
  readonly prompt_tokens_details?: {
    /** Tokens of the request that came from the gateway's cache. */
    readonly cached_tokens?: number;
  };
  /** Tokens of the request that came from the gateway's cache. `alpha-v4.1-flash` only. */
  readonly prompt_cache_hit_tokens?: number;
  /** Tokens of the request that did not come from the gateway's cache. `alpha-v4.1-flash` only. */
  readonly prompt_cache_miss_tokens?: number;
  /** Details of `completion_tokens`; absent if the model does not report them. */
  readonly completion_tokens_details?: {
    /** Tokens of the thinking. */
    readonly reasoning_tokens?: number;
  };
  /** Generated images. */
  readonly generated_images?: number;
  /** Tokens of the images. */
  readonly output_tokens?: number;
}

/** Metadata of the response to a call. A failed call has the metadata that came before its failure. */
export interface CallSummary {
  /** Outcome of the call. @default "complete" */
  readonly outcome?: Outcome;
  /** Counts of the response; absent if the gateway did not report them. */
  readonly usage?: object | null | undefined;
  /** Id of the response. */
  readonly id?: string;
  /** Model of the response. */
  readonly model?: string;
  /** `finish_reason` as the gateway sent it. */
  readonly finishReason?: string | null;
  /** Speed of a chat response, measured from the start of the call. */
  readonly timing?:
    | {
        /** Milliseconds until the first text, thinking or tool call; absent if none came. */
        readonly firstTokenMs?: number;
        /** Milliseconds until the end of the response. */
        readonly totalMs: number;
        /** Tokens of the response per second after the first token; absent without usage. */
        readonly tokensPerSecond?: number;
      }
    | undefined;
}

/** A field of a request that events show. A chat that streams has `stream`; `response_format` is its `type`. */
type SettingName =
  | "max_tokens"
  | "temperature"
  | "top_p"
  | "reasoning_effort"
  | "stop"
  | "seed"
  | "n"
  | "stream"
  | "response_format"
  | "size"
  | "resolution"
  | "duration"
  | "audio"
  | "generate_audio";

/**
 * Settings of a request, under the gateway's names, as the app set them, including invalid values and those in
 * `parameters`. Excludes prompts, tools and schemas.
 */
export type CallSettings = { readonly [Name in SettingName]?: unknown };

/** A request of a call: the argument of `headers` of `createClient`, and the fields of the call's events. */
export interface CallInfo {
  /** Path of the request, `/v1/…`. A request for a stored response has another path than the events of its call. */
  readonly path: string;
  /**
   * Id of the call: the same for all its events, and unique. Absent from a request outside of calls, such as a
   * dismissal, which only has a path.
   */
  readonly callId?: string | undefined;
  /** Purpose of the call; absent without a `callId`. */
  readonly kind?: CallKind | undefined;
  /** The request's model; absent from queries. */
  readonly model?: string | undefined;
  /** The request's settings; absent if it has none. */
  readonly settings?: CallSettings | undefined;
  /** The `id` of the call's chat; absent if the chat has none, and from calls outside of chats. */
  readonly chatId?: string | undefined;
  /** Id of the message in its chat; absent from calls outside of chats. */
  readonly messageId?: string | undefined;
}

/** The call of an event. */
export interface CallIdentity extends CallInfo {
  /** Id of the call: the same for all its events, and unique. */
  readonly callId: string;
  /** Purpose of the call. */
  readonly kind: CallKind;
}

interface RequestStep {
  /** An attempt is sent. */
  readonly type: "request";
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** The request's `idempotency-key`; absent if it has none. */
  readonly idempotencyKey?: string | undefined;
}
interface ResponseStep {
  /** The headers of a response arrived. */
  readonly type: "response";
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** HTTP status of the response. */
  readonly status: number;
  /** Milliseconds since the attempt was sent. */
  readonly durationMs: number;
  /** Request id of the gateway or the proxy, for a support ticket. */
  readonly requestId?: string | undefined;
}
interface RetryStep {
  /** An attempt failed and is repeated. */
  readonly type: "retry";
  /** Number of the failed attempt, from 1. */
  readonly attempt: number;
  /** Milliseconds until the next attempt. */
  readonly delayMs: number;
  /** Error of the attempt. */
  readonly error: Error;
}
interface FirstChunkStep {
  /** The first text, thinking or tool call of a stream arrived. */
  readonly type: "first-chunk";
  /** Milliseconds since the call began. */
  readonly durationMs: number;
}
interface EndStep {
  /** The call has ended. Each call has exactly one such event, its last. */
  readonly type: "end";
  /** Outcome of the call. A query of a failed video task is also `complete`. */
  readonly outcome: Outcome;
  /** Milliseconds since the call began. */
  readonly durationMs: number;
  /**
   * The gateway's id of a chat response, or of a created video task; at most 200 characters. This and the next three
   * fields are also set for a truncated or stopped response.
   */
  readonly responseId?: string | undefined;
  /**
   * Model of a chat, image or created video task, as the gateway names it. If the response names none: absent for a
   * chat, the request's model otherwise.
   */
  readonly responseModel?: string | undefined;
  /** `finish_reason` of a chat response, as the gateway sent it; absent if none came. */
  readonly finishReason?: string | undefined;
  /** Counts of the response; absent if the gateway did not report them. */
  readonly usage?: CallUsage | undefined;
  /** Speed of a chat response; absent if the call failed. */
  readonly timing?: CallSummary["timing"] | undefined;
  /** Error of the call. */
  readonly error?: unknown;
}

/** One step of a call. */
export type CallStep = RequestStep | ResponseStep | RetryStep | FirstChunkStep | EndStep;

/** A run of a tool in a chat. */
export interface ToolRun {
  /** Name of the tool. */
  readonly name: string;
  /** Id of the call, as in the message. */
  readonly toolCallId: string;
  /** The `id` of the chat; absent if it has none. */
  readonly chatId?: string | undefined;
  /** Id of the message that calls the tool. */
  readonly messageId: string;
}

interface ToolStart extends ToolRun {
  /**
   * A tool with an `execute` starts. Each start has a `tool-end`. A call that fails before it runs emits both at once.
   * Neither event contains the arguments or the output.
   */
  readonly type: "tool-start";
}
interface ToolEnd extends ToolRun {
  /** The run of a tool has ended. */
  readonly type: "tool-end";
  /** Milliseconds since `tool-start`. */
  readonly durationMs: number;
  /** State of the call: `cancelled` if the chat was stopped. `execute` may still run. */
  readonly state: "done" | "failed" | "cancelled";
  /**
   * Error of a failed or cancelled run: the unchanged error of `execute`. A `TimeoutError`: `execute` returned no
   * result within the tool's `timeoutMs`. A `ValidationError`: the arguments do not fit the tool, and `execute` was not
   * called.
   */
  readonly error?: Error;
}

interface StorageError {
  /**
   * A chat, a list or a draft could not be read from its storage or written to it. The app continues without the
   * storage, and failed writes are retried while the page is open. Emitted once before `storage-recovered`, and once
   * for each record that the storage rejects while it accepts others.
   */
  readonly type: "storage-error";
  /** Error of the storage. */
  readonly error: unknown;
  /** Id of the only message of a chat that could not be written. */
  readonly messageId?: string;
}
interface StorageRecovered {
  /** All failed writes of a chat, a list or a draft have succeeded. */
  readonly type: "storage-recovered";
}
interface FeatureUnavailable {
  /**
   * The browser blocks a feature, so this tab works without the other tabs. Emitted once for each feature and client.
   */
  readonly type: "feature-unavailable";
  /** The feature. */
  readonly feature: PlatformFeature;
  /** Error of the browser. */
  readonly error: Error;
}
interface Warning {
  /** A part of the request or the response is or may be ignored. */
  readonly type: "warning";
  /** The part and its fix. */
  readonly issue: Issue;
  /** Id of the warning's call, if any. */
  readonly callId?: string | undefined;
}

/**
 * An event for `onEvent`: for logs, metrics and timelines. It contains the settings of a request, but never a body, the
 * API key or the app's headers. Times are milliseconds.
 */
export type ClientEvent =
  | (CallIdentity & CallStep)
  | ToolStart
  | ToolEnd
  | StorageError
  | StorageRecovered
  | FeatureUnavailable
  | Warning;
