import type { Usage } from "./plugin.js";
import type { RouteName } from "./routes.js";

/**
 * The end of a request, of a job, or of one attempt at a job.
 *
 * - `complete`: the response or the job reached its end.
 * - `unconfirmed`: the response of a chat ended without a `finish_reason`. It may lack its end, and was billed.
 * - `truncated`: the stream had begun, and broke off.
 * - `error`: a response of 5xx, or JSON with status 200 that is or has an error (code `upstream_error`). A job ended with
 *   an error, or after its last attempt.
 * - `refused`: a response of 4xx, from the proxy or from the gateway. A job is not tried again.
 * - `disconnected`: the client closed the connection before the end of the response.
 * - `stopped`: the user stopped or removed the job.
 * - `abandoned`: the job was stopped, because no client had read the response for a while.
 * - `lost`: the process of the job ended. Its reservation is spent.
 * - `dropped`: the job is given up without an attempt, or its response or its reservation is; `code` says why.
 * - `retrying`: an attempt at a job failed, and another one follows at `nextAt`.
 */
type ProxyOutcome =
  | "complete"
  | "unconfirmed"
  | "truncated"
  | "error"
  | "refused"
  | "disconnected"
  | "stopped"
  | "abandoned"
  | "lost"
  | "dropped"
  | "retrying";

/**
 * One job that continues without the request that began it, reported to the plugin `events`. There is one event for each
 * end, and one for each attempt before the last. It contains no body, address, header or key.
 */
export interface JobEvent {
  /** Distinguishes a `JobEvent` from a `RequestEvent`. */
  readonly type: "job";
  /**
   * - `chat`: a chat stream of `resumableStreams()`.
   * - `create`: an image, video, asset or epsilon request of `idempotency()`.
   * - `watch`: a video task that `videoWatch` polls.
   * - `upload`, `archive`: a file of a user, and a file of the gateway that the archive copies.
   * - `webhook`: a notification of the app.
   *
   * The jobs of other plugins have a prefix: `name:job`.
   */
  readonly job: "chat" | "create" | "watch" | "upload" | "archive" | "webhook" | `${string}:${string}`;
  /** The id of the stream, the request, the task, the file or the notification. */
  readonly id: string;
  readonly outcome: ProxyOutcome;
  /** The id that `authenticate` returned. */
  readonly userId?: string | undefined;
  /** The `x-request-id` of the request that began the job. */
  readonly requestId?: string | undefined;
  /** The gateway's id of the video task. */
  readonly taskId?: string | undefined;
  readonly model?: string | undefined;
  /** The `error.code` that was sent, or that says why the job ended. */
  readonly code?: string | undefined;
  /** The HTTP status of the gateway or the app. Absent without a response. */
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
  /** Time from the start of the job to its end, in milliseconds. */
  readonly durationMs?: number | undefined;
}

/**
 * One request, reported to the plugin `events` after its response. Preflights are not reported. It contains no body, header
 * or key. Raise an alarm at the code `upstream_auth`: the gateway refuses the key, or the account is empty.
 */
export interface RequestEvent {
  /** Distinguishes a `RequestEvent` from a `JobEvent`. */
  readonly type: "request";
  /** The response's `x-request-id`: the id of the gateway if it sent one, else of the proxy. */
  readonly requestId: string;
  /** The group of the path. Absent for a path that the proxy does not serve. */
  readonly route?: RouteName;
  readonly method: string;
  /** The `traceparent` of the request, if it is well-formed: the trace and the span of the client. */
  readonly traceparent?: string;
  /** The `traceparent` that a plugin created for the proxy's own span. The gateway received it. */
  readonly ownTraceparent?: string;
  /** The HTTP status that was sent; 499 if the client disconnected before the end. */
  readonly status: number;
  /** The `error.code` that was sent, also inside a stream. */
  readonly code?: string;
  readonly outcome: ProxyOutcome;
  /** The reason of a 401, as `/auth` reports it: `unexpected "aud" claim value`. The response does not contain it. */
  readonly reason?: string;
  /** The operation of an operator: `users/erase`. Absent for other users. */
  readonly operation?: string;
  /** The user whose data an operation reads or changes: the `user` of its body. */
  readonly target?: string;
  /** The budget that refused the request: a name of the `limits` of `budget(…)`. */
  readonly budget?: string;
  /**
   * The limit that refused the request with 429: `requests` or `polls` of `rateLimit`, `maxStreamsPerUser` or
   * `maxOpenBodyBytes` of `limits`. Absent for limits of files and of readers of one stream, which `code` names.
   */
  readonly limit?: string;
  /** The model of the request. Absent if the request names none, or was refused before its model was checked. */
  readonly model?: string;
  /** The id that `authenticate` returned. */
  readonly userId?: string;
  /**
   * The gateway's own count. The proxy reads it in every JSON response, and with `readStreams()` also in streams. Absent if a
   * job sent the request to the gateway: the `JobEvent` of the job has the count.
   */
  readonly usage?: Usage;
  /** The id of a stored stream, the response's `x-stream-id`. Its payment is in the `JobEvent` with this id. */
  readonly streamId?: string;
  /** True for a stored response: a create or a chat that was repeated with its key, or a stream that was read again. */
  readonly isReplay?: boolean;
  /** The amounts that the meter reserved and spent for this request, in its unit. Absent if the meter reports none. */
  readonly reserved?: number;
  readonly spent?: number;
  /** Number of requests to the gateway, if a second key was tried. @default 1 */
  readonly attempts?: number;
  /** The HTTP status of the gateway. Absent if the proxy sent no request to it, or got no response. */
  readonly upstreamStatus?: number;
  /** Time from the request's arrival to the first byte of the response's body, in milliseconds. */
  readonly firstByteMs?: number;
  /** Size of the body that was sent, in bytes; absent for a stream that the proxy passes on without reading it. */
  readonly bytes?: number;
  /** Time from the request's arrival to the end of the response, in milliseconds. */
  readonly durationMs: number;
}

/**
 * An event of a request or of a job. `type` distinguishes them.
 */
export type ProxyEvent = RequestEvent | JobEvent;
