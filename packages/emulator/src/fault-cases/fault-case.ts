/** Operations of a client that a fault is about, with the path of each. */
export const operations = {
  "stream-chat": "/v1/chat/completions",
  "complete-chat": "/v1/chat/completions",
  "generate-images": "/v1/images/generations",
  "watch-video": "/v1/video/generations",
} as const;

/** Outcomes of a call, in the words of `@sluice/core`. `complete` is also the success of an image or a video. */
type Outcome =
  | "complete"
  | "tool-calls"
  | "length"
  | "content-filter"
  | "insufficient-resource"
  | "unconfirmed"
  | "truncated"
  | "error";

/**
 * Kinds of errors.
 *
 * - `refused`: the gateway rejected the request
 * - `server`: the gateway or the model failed, by its status or inside the response
 * - `malformed`: the response is unreadable
 * - `truncated`: the response ended before its end
 * - `timeout`: a limit of time of the client passed
 * - `connection`: no response came
 * - `wrong-address`: another server responded
 * - `task-failed`, `no-result`: the video task failed, or succeeded without a video
 */
type ErrorKind =
  | "refused"
  | "server"
  | "malformed"
  | "truncated"
  | "timeout"
  | "connection"
  | "wrong-address"
  | "task-failed"
  | "no-result";

/** A known fault of a gateway: its responses, and the result of a correct client. Plain JSON. */
export interface FaultCase {
  /** Name in the URL, `tool-calls-without-ids`: lower-case words and hyphens, at most 32 characters. */
  readonly name: string;
  /** Group of similar faults, as a heading. */
  readonly group: string;
  /** What happens, in one line. */
  readonly title: string;
  /** Operation that meets the fault. */
  readonly operation: keyof typeof operations;
  /** URL of a public report, or the description of the class or the rule. */
  readonly report: string;
  /** Responses to successive requests. The last one repeats. */
  readonly responses: readonly FaultResponse[];
  /** Largest number of requests that a correct client sends, queries of a task not included. */
  readonly maxRequests: number;
  /** Right outcomes: each of them is correct. Never empty, and the first is not `lesser`. */
  readonly right: readonly FaultOutcome[];
}

/** One response of a fault. Without a `status`, no response comes: `end` is `cut` or `stall`. */
export interface FaultResponse {
  /** Method of the requests that get this response. Responses are counted for each method. @default any method */
  readonly method?: "GET" | "POST";
  /** HTTP status, 200 to 599. */
  readonly status?: number;
  /** Headers. @default the content type of JSON for `body`, of an event stream for `pieces` */
  readonly headers?: Readonly<Record<string, string>>;
  /** Milliseconds before the response. @default 0 */
  readonly afterMs?: number;
  /** JSON to send as the whole body. */
  readonly body?: unknown;
  /** Pieces to send one by one, instead of a `body`. */
  readonly pieces?: readonly FaultPiece[];
  /**
   * What follows the body: its end, a broken connection, or silence until the client disconnects, at most 11 minutes.
   *
   * @default "finished"
   */
  readonly end?: "finished" | "cut" | "stall";
}

/** One piece of a body: exactly one of `delta`, `data`, `text` and `base64`. */
export interface FaultPiece {
  /** Milliseconds before the piece. @default 0 */
  readonly afterMs?: number;
  /** How often the piece is sent, 1 to 1000. @default 1 */
  readonly times?: number;
  /** Delta of a chunk of a chat, sent as an event. */
  readonly delta?: Readonly<Record<string, unknown>> | null;
  /** `finish_reason` of the chunk. @default null */
  readonly finish_reason?: unknown;
  /** Other fields of the chunk's choice. */
  readonly choice?: Readonly<Record<string, unknown>>;
  /** Other fields of the chunk. They replace its `id`, `model` and `choices`. */
  readonly chunk?: Readonly<Record<string, unknown>>;
  /** JSON to send as an event. */
  readonly data?: unknown;
  /** Text to send unchanged. */
  readonly text?: string;
  /** Bytes to send unchanged, for characters that are cut. */
  readonly base64?: string;
}

/** A right outcome of a fault. A field that is absent may have any value. */
export interface FaultOutcome {
  readonly outcome: Outcome;
  /** Kind of the error, for the outcomes `error` and `truncated`. */
  readonly error?: ErrorKind;
  /** Whether the request may have been billed. */
  readonly billing?: "none" | "maybe";
  /** Words that the error repeats. */
  readonly words?: string;
  /** Whole text of the message, or the text before the error. */
  readonly text?: string;
  /** Whole thinking. */
  readonly reasoning?: string;
  /** Calls that may run. Empty if none may. */
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: unknown }[];
  /** `usage.total_tokens`. */
  readonly totalTokens?: number;
  /** URLs of the images or the video. Null for an image that failed. */
  readonly urls?: readonly (string | null)[];
  /** True if another right outcome serves the user better. @default false */
  readonly lesser?: boolean;
}
