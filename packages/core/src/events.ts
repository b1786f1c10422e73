import type { Issue } from "./errors.js";

/** Browser features that a tab can do without. */
export type PlatformFeature = "web-locks" | "broadcast-channel" | "indexed-db" | "web-storage";

/** The purpose of a call, told by its path: any path that is none of the gateway's own is an asset lookup. */
export type CallKind = "chat" | "image" | "video" | "asset" | "epsilon";

/**
 * The end of a call.
 *
 * - of a chat answer, its own outcome: `complete`, `length`, `content-filter`, `tool-calls`, `insufficient-resource`
 * - `success`: any other call that was answered as the spec says. A query of a failed video task is a success too
 * - `stopped`: the caller aborted it
 * - `truncated`: the stream broke off; `error`: the stream reported or carried something unreadable
 * - `not-sent`, `refused`, `unknown`: it failed, with this outcome of the request ({@link GatewayError.outcome})
 */
export type CallOutcome =
  | "complete"
  | "length"
  | "content-filter"
  | "tool-calls"
  | "insufficient-resource"
  | "success"
  | "stopped"
  | "truncated"
  | "error"
  | "not-sent"
  | "refused"
  | "unknown";

/** Counts of an answer, as the gateway sent them: tokens of a chat, images and tokens of an image request. */
export interface CallUsage {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
  readonly total_tokens?: number;
  readonly generated_images?: number;
  readonly output_tokens?: number;
}

/** Facts about a call that ended well. */
export interface CallSummary {
  /** @default "success" */
  readonly outcome?: CallOutcome;
  readonly usage?: CallUsage | undefined;
  /** Of a chat answer; milliseconds from the call of the verb. */
  readonly timing?:
    | {
        readonly firstTokenMs?: number;
        readonly totalMs: number;
        readonly tokensPerSecond?: number;
      }
    | undefined;
}

/** The call that an event belongs to. */
export interface CallIdentity {
  /** The same for all events of one call, and for no other call. */
  readonly callId: string;
  readonly kind: CallKind;
  /** The request's model; absent from queries. */
  readonly model?: string | undefined;
  /** The gateway's path, `/v1/…`. */
  readonly path: string;
}

/** One step of a call. Attempts count from 1. */
export type CallStep =
  /** An attempt is sent. */
  | { readonly type: "request"; readonly attempt: number }
  /** Its headers came, `ms` after it was sent. */
  | {
      readonly type: "response";
      readonly attempt: number;
      readonly status: number;
      readonly ms: number;
      readonly requestId?: string | undefined;
    }
  /** It failed, and is repeated after `delayMs`. */
  | { readonly type: "retry"; readonly attempt: number; readonly delayMs: number; readonly error: Error }
  /** The first text, thinking or tool call of a stream came, `ms` after the call of the verb. */
  | { readonly type: "first-chunk"; readonly ms: number }
  /** The last event of each call, exactly one, `ms` after the call of the verb. */
  | {
      readonly type: "end";
      readonly outcome: CallOutcome;
      readonly ms: number;
      readonly usage?: CallUsage | undefined;
      readonly timing?: CallSummary["timing"] | undefined;
      /** `error.code`: `"api"`, `"timeout"`, …; absent from an abort. */
      readonly errorCode?: string | undefined;
      /** The error that the verb threw. */
      readonly error?: unknown;
    };

/**
 * An event that a client passes to `onEvent`: enough for logs, meters and timelines, never a body, a header or a key.
 * Times are milliseconds.
 */
export type ClientEvent =
  | (CallIdentity & CallStep)
  /**
   * A chat or a task could not be read from its storage, or not be written there. The work goes on without.
   * `messageId`: the one message of a chat that could not be written; all others are.
   */
  | { readonly type: "storage-failure"; readonly error: unknown; readonly messageId?: string }
  /** The browser refuses a feature: this tab works for itself. Emitted once for each feature and client. */
  | { readonly type: "platform-limit"; readonly feature: PlatformFeature; readonly error: Error }
  /** The gateway would ignore a part of the request or may not know it, or a part of its answer is ignored. */
  | { readonly type: "warning"; readonly issue: Issue; readonly callId?: string | undefined };
