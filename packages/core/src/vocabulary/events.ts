import type { Issue, Outcome } from "./errors.js";

/** Browser features that a tab can do without. */
export type PlatformFeature = "web-locks" | "broadcast-channel" | "indexed-db" | "web-storage";

/** Purpose of a call. */
export type CallKind = "chat" | "image" | "video" | "asset" | "epsilon" | "upload" | "archive";

/**
 * Counts of an answer, under the gateway's own names: tokens of a chat, images and tokens of an image request. Only
 * numbers: what else a gateway sends in its usage is left out.
 */
export interface CallUsage {
  /** Tokens of a chat request. */
  readonly prompt_tokens?: number;
  /** Tokens of a chat answer. */
  readonly completion_tokens?: number;
  /** All tokens of the call. */
  readonly total_tokens?: number;
  /** Parts of `prompt_tokens`; absent where the model reports none. */
  readonly prompt_tokens_details?: {
    /** Tokens of the request that the gateway had in its cache. */
    readonly cached_tokens?: number;
  };
  /** Tokens of the request that the gateway had in its cache. `alpha-v4.1-flash` only. */
  readonly prompt_cache_hit_tokens?: number;
  /** Tokens of the request that the gateway did not have in its cache. `alpha-v4.1-flash` only. */
  readonly prompt_cache_miss_tokens?: number;
  /** Parts of `completion_tokens`; absent where the model reports none. */
  readonly completion_tokens_details?: {
    /** Tokens of the thinking. */
    readonly reasoning_tokens?: number;
  };
  /** Images that were made. */
  readonly generated_images?: number;
  /** Tokens of the images. */
  readonly output_tokens?: number;
}

/** Facts about the answer to a call. Of one that failed they are what had come until then. */
export interface CallSummary {
  /** Outcome of the call. @default "complete" */
  readonly outcome?: Outcome;
  /** Counts of the answer; absent where the gateway did not report them. */
  readonly usage?: object | null | undefined;
  /** Id of the answer. */
  readonly id?: string;
  /** Model that answered. */
  readonly model?: string;
  /** `finish_reason` as the gateway sent it. */
  readonly finishReason?: string | null;
  /** Speed of a chat answer, measured from the start of the call. */
  readonly timing?:
    | {
        /** Milliseconds until the first text, thinking or tool call; absent where none came. */
        readonly firstTokenMs?: number;
        /** Milliseconds until the end of the answer. */
        readonly totalMs: number;
        /** Tokens of the answer per second after the first token; absent without usage. */
        readonly tokensPerSecond?: number;
      }
    | undefined;
}

/**
 * Settings of a request, under the gateway's own names, as the app gave them: a value that the rules refuse is here, too.
 * Prompts, tools and schemas are not among them.
 */
export interface CallSettings {
  /** Largest number of tokens of a chat's response. */
  readonly max_tokens?: unknown;
  /** Temperature of the sampling. */
  readonly temperature?: unknown;
  /** Share of the probability that is sampled from. */
  readonly top_p?: unknown;
  /** Effort of the thinking. */
  readonly reasoning_effort?: unknown;
  /** Texts at which the response ends. */
  readonly stop?: unknown;
  /** Start of the random numbers. */
  readonly seed?: unknown;
  /** Number of responses to one request. */
  readonly n?: unknown;
  /** True for a chat that streams. */
  readonly stream?: unknown;
  /** `type` of the request's `response_format`. */
  readonly response_format?: unknown;
}

/** A request of a call: the argument of the `headers` of `createClient`, and the fields of the events of the call. */
export interface CallInfo {
  /** Path of the request, `/v1/…`; that of a stored response differs from the path in the events of its call. */
  readonly path: string;
  /**
   * Id of the call: the same for all its events, and for no other call. Absent from a request beside the calls, such as
   * a dismissal, which has only its path.
   */
  readonly callId?: string | undefined;
  /** Purpose of the call; absent where `callId` is. */
  readonly kind?: CallKind | undefined;
  /** The request's model; absent from queries. */
  readonly model?: string | undefined;
  /** The request's settings; absent where it has none. */
  readonly settings?: CallSettings | undefined;
  /** The `id` of the chat that the call is for; absent where it has none, and from calls of no chat. */
  readonly chatId?: string | undefined;
  /** Id of the answer in its chat; absent from calls of no chat. */
  readonly messageId?: string | undefined;
}

/** The call that an event belongs to. */
export interface CallIdentity extends CallInfo {
  /** Id of the call: the same for all its events, and for no other call. */
  readonly callId: string;
  /** Purpose of the call. */
  readonly kind: CallKind;
}

interface RequestStep {
  /** An attempt is sent. */
  readonly type: "request";
  /** Number of the attempt, from 1. */
  readonly attempt: number;
}
interface ResponseStep {
  /** The headers of an answer came. */
  readonly type: "response";
  /** Number of the attempt, from 1. */
  readonly attempt: number;
  /** HTTP status of the answer. */
  readonly status: number;
  /** Milliseconds since the attempt was sent. */
  readonly durationMs: number;
  /** Request id of the gateway or the proxy, for a support ticket. */
  readonly requestId?: string | undefined;
}
interface RetryStep {
  /** An attempt failed and is repeated. */
  readonly type: "retry";
  /** Number of the attempt that failed, from 1. */
  readonly attempt: number;
  /** Milliseconds until the next attempt. */
  readonly delayMs: number;
  /** Error of the attempt. */
  readonly error: Error;
}
interface FirstChunkStep {
  /** The first text, thinking or tool call of a stream came. */
  readonly type: "first-chunk";
  /** Milliseconds since the call began. */
  readonly durationMs: number;
}
interface EndStep {
  /** The call has ended. Each call has exactly one such event, its last. */
  readonly type: "end";
  /** Outcome of the call; a query of a failed video task is `complete`, too. */
  readonly outcome: Outcome;
  /** Milliseconds since the call began. */
  readonly durationMs: number;
  /**
   * Id that the gateway gave the answer of a chat; at most 200 characters. Also of an answer that broke off or was
   * stopped, as are the next three fields.
   */
  readonly responseId?: string | undefined;
  /**
   * Model that answered a chat or an image request, as the gateway names it. Where the answer names none it is absent,
   * and the request's model for images.
   */
  readonly responseModel?: string | undefined;
  /** `finish_reason` of a chat answer, as the gateway sent it; absent where none came. */
  readonly finishReason?: string | undefined;
  /** Counts of the answer; absent where the gateway did not report them. */
  readonly usage?: CallUsage | undefined;
  /** Speed of a chat answer; absent from one that failed. */
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
  /** The `id` of the chat; absent where it has none. */
  readonly chatId?: string | undefined;
  /** Id of the answer that calls the tool. */
  readonly messageId: string;
}

interface ToolStart extends ToolRun {
  /**
   * A tool with an `execute` runs. Each one has a `tool-end`; a call that fails before it runs has both at once. Neither
   * has the arguments or the output.
   */
  readonly type: "tool-start";
}
interface ToolEnd extends ToolRun {
  /** The run of a tool has ended. */
  readonly type: "tool-end";
  /** Milliseconds since `tool-start`. */
  readonly durationMs: number;
  /** State of the call: `cancelled` where the chat was stopped. `execute` may still run then. */
  readonly state: "done" | "failed" | "cancelled";
  /**
   * Error of a run that failed or was cancelled. `execute` threw it, unchanged. A `TimeoutError`: no result came within
   * the tool's `timeoutMs`. A `ValidationError`: the arguments do not fit the tool, and `execute` was not called.
   */
  readonly error?: Error;
}

interface StorageError {
  /**
   * A chat, a list or a draft could not be read from its storage, or not be written there. The work continues without
   * it, and what could not be written is tried again while the page lives. Emitted once until `storage-recovered`, and
   * once for each record that the storage refuses while it takes others.
   */
  readonly type: "storage-error";
  /** Error of the storage. */
  readonly error: unknown;
  /** Id of the one message of a chat that could not be written; all others are. */
  readonly messageId?: string;
}
interface StorageRecovered {
  /** All records of a chat, a list or a draft that could not be written are written now. */
  readonly type: "storage-recovered";
}
interface FeatureUnavailable {
  /** The browser refuses a feature: this tab works without the other tabs. Emitted once for each feature and client. */
  readonly type: "feature-unavailable";
  /** The feature. */
  readonly feature: PlatformFeature;
  /** Error of the browser. */
  readonly error: Error;
}
interface Warning {
  /** A part of the request or of the answer is ignored, or may be ignored. */
  readonly type: "warning";
  /** The part, and what to do about it. */
  readonly issue: Issue;
  /** Id of the call, where the warning belongs to one. */
  readonly callId?: string | undefined;
}

/**
 * An event that a client passes to `onEvent`, for logs, meters and timelines. It never has a body, a header or a key;
 * of a request it has the settings. Times are milliseconds.
 */
export type ClientEvent =
  | (CallIdentity & CallStep)
  | ToolStart
  | ToolEnd
  | StorageError
  | StorageRecovered
  | FeatureUnavailable
  | Warning;
