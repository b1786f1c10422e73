import type { Usage } from "./plugin.js";
import type { RouteName } from "./routes.js";

/**
 * The end of a job, or of one attempt at it.
 *
 * - `complete`: it reached its end.
 * - `unconfirmed`: a response ended without a `finish_reason`. It may lack its end, and was billed.
 * - `refused`: the other side refused it, or the proxy did before it was sent. It is not tried again.
 * - `failed`: it ended with an error, or after its last attempt.
 * - `cut`: the response had begun, and broke off.
 * - `stopped`: its user stopped or removed it.
 * - `orphaned`: it was stopped, because no client had read the response for a while.
 * - `lost`: the process that did it ended. Its reservation is spent.
 * - `dropped`: it is given up without an attempt; `code` says why.
 * - `waiting`: an attempt failed, and another one follows at `nextAt`.
 */
export type JobOutcome =
  | "complete"
  | "unconfirmed"
  | "refused"
  | "failed"
  | "cut"
  | "stopped"
  | "orphaned"
  | "lost"
  | "dropped"
  | "waiting";

/**
 * One job that goes on without the request that began it, reported to `onEvent` of the part that does it. There is one
 * event for each end, and one for each attempt before the last. It contains no body, address, header or key.
 */
export interface JobEvent {
  /**
   * - `response`: a chat stream of `resumableStreams()`.
   * - `create`: an image, video, asset or epsilon request of `idempotency()`.
   * - `watch`: a video task that `videoWatch` polls.
   * - `upload`, `copy`: a file of a user, and a file of the gateway's that the archive copies.
   * - `webhook`: a notice for the app.
   *
   * The kinds of other extensions have a prefix: `name:kind`.
   */
  readonly kind: "response" | "create" | "watch" | "upload" | "copy" | "webhook" | `${string}:${string}`;
  /** The id of the stream, the request, the task, the file or the notice. */
  readonly id: string;
  readonly outcome: JobOutcome;
  /** The id that `authenticate` returned. */
  readonly user?: string | undefined;
  /** The `x-request-id` of the request that began the job. */
  readonly requestId?: string | undefined;
  /** The gateway's id of the video task. */
  readonly taskId?: string | undefined;
  readonly model?: string | undefined;
  /** The `error.code` that was sent, or that says why the job ended. */
  readonly code?: string | undefined;
  /** The HTTP status of the gateway or the app; absent where none answered. */
  readonly upstreamStatus?: number | undefined;
  /** The gateway's own count. */
  readonly usage?: Usage | undefined;
  /** The reserved and the spent amount, in the meter's unit. */
  readonly reserved?: number | undefined;
  readonly spent?: number | undefined;
  /** Number of attempts so far, this one included. */
  readonly attempts?: number | undefined;
  /** Time of the next attempt, in milliseconds since 1970. */
  readonly nextAt?: number | undefined;
  /** Size of the response or the file, in bytes. */
  readonly bytes?: number | undefined;
  /** Time from the begin of the job to its end, in milliseconds. */
  readonly durationMs?: number | undefined;
}

/** Receives the events of a part. An error that it throws is in the log, and breaks no job. */
export type OnJobEvent<Env> = (event: JobEvent, env: Env) => unknown;

/**
 * The end of a request.
 *
 * - `complete`: the response reached its end.
 * - `unconfirmed`: the response of a chat ended without a `finish_reason`, where the proxy reads it. It may lack its end,
 *   and was billed.
 * - `refused`: a response of 4xx, from the proxy or from the gateway.
 * - `failed`: a response of 5xx, or JSON with status 200 that is or has an error; the code is `upstream_error` then.
 * - `cut`: the stream had begun, and ended with an error event.
 * - `left`: the client closed the connection before the end.
 */
export type Outcome = "complete" | "unconfirmed" | "refused" | "failed" | "cut" | "left";

/**
 * One request, reported to `onEvent` of the plugins after its response. Preflights are not reported. It contains no body, header
 * or key. Raise an alarm at the code `upstream_auth`: the gateway refuses the key, or the account is empty.
 */
export interface RequestEvent {
  /** Tells it from a `JobEvent`. */
  readonly kind: "request";
  /** The response's `x-request-id`: the gateway's where it sent one, else the proxy's own. */
  readonly requestId: string;
  /** Absent where the path is none of the proxy's. */
  readonly route?: RouteName;
  readonly method: string;
  /** The `traceparent` of the request, where it is well-formed: the trace and the span that it belongs to. */
  readonly traceparent?: string;
  /** The `traceparent` of the proxy's own span, which went to the gateway: that of a plugin. */
  readonly ownTraceparent?: string;
  /** The HTTP status that was sent; 499 where the client left before the end. */
  readonly status: number;
  /** The `error.code` that was sent, also inside a stream. */
  readonly code?: string;
  readonly outcome: Outcome;
  /** The reason of a 401 in words of `/auth`, which the caller does not learn: `unexpected "aud" claim value`. */
  readonly reason?: string;
  /** The operation of an operator, `users/erase`; absent where the caller is none. */
  readonly operation?: string;
  /** The user that an operation is about: the `user` of its body, where it has one. */
  readonly target?: string;
  /** The budget that refused the request: a name of the `limits` of `budget(…)`. */
  readonly budget?: string;
  /**
   * The limit that refused the request with 429: `requests` or `polls` of `rateLimit`, or `streamsPerUser` of `limits`. For
   * files and for readers of one stream the code says it.
   */
  readonly limit?: string;
  /** The model of the request; absent where it names none or was refused before it was read. */
  readonly model?: string;
  /** The id that `authenticate` returned. */
  readonly user?: string;
  /**
   * The gateway's own count, where the proxy reads it: in every JSON response, and in a stream with `readStreams()`. Absent where
   * an object has asked the gateway: its `JobEvent` has it, once for each response.
   */
  readonly usage?: Usage;
  /** The id of a stream that is kept, the response's `x-stream-id`. Its payment is in the `JobEvent` with this id. */
  readonly streamId?: string;
  /** True where the response was kept already: a create or a chat that was repeated with its key, and a stream that was read again. */
  readonly replayed?: boolean;
  /** The amounts that the meter has set aside and spent for this request, in its unit, where it says so. */
  readonly reserved?: number;
  readonly spent?: number;
  /** Number of requests to the gateway, where a second key was tried. @default 1 */
  readonly attempts?: number;
  /** The HTTP status of the gateway; absent where the proxy sent nothing to it, or got no response. */
  readonly upstreamStatus?: number;
  /** Time from the request's arrival to the first byte of the response's body, in milliseconds. */
  readonly firstByteMs?: number;
  /** Size of the body that was sent, in bytes; absent for a stream that the proxy passes on without reading it. */
  readonly bytes?: number;
  /** Time from the request's arrival to the end of the response, in milliseconds. */
  readonly durationMs: number;
}

/**
 * An event of a request or of a job: `kind` tells them apart.
 */
export type ProxyEvent = RequestEvent | JobEvent;
