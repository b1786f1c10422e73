import type { Usage } from "./admitted.js";
import { traceparentOf } from "./base/traceparent.js";
import type { JobEvent } from "./job-event.js";
import type { RouteName } from "./routes.js";

/**
 * The end of a request.
 *
 * - `complete`: the answer reached its end.
 * - `unconfirmed`: the answer of a chat ended without a `finish_reason`, where the proxy reads it. It may lack its end,
 *   and was billed.
 * - `refused`: an answer of 4xx, from the proxy or from the gateway.
 * - `failed`: an answer of 5xx, or JSON with status 200 that is or has an error; the code is `upstream_error` then.
 * - `cut`: the stream had begun, and ended with an error event.
 * - `left`: the client closed the connection before the end.
 */
export type Outcome = "complete" | "unconfirmed" | "refused" | "failed" | "cut" | "left";

/**
 * One request, reported to `onEvent` when its answer is over. Preflights are not reported. It has no body, no header
 * and no key in it. Raise an alarm at the code `upstream_auth`: the gateway refuses the key, or the account is empty.
 */
export interface ProxyEvent {
  /** Tells it from a `JobEvent`. */
  readonly kind: "request";
  /** The answer's `x-request-id`: the gateway's where it sent one, else the proxy's own. */
  readonly requestId: string;
  /** Absent where the path is none of the proxy's. */
  readonly route?: RouteName;
  readonly method: string;
  /** The `traceparent` of the request, where it is well-formed: the trace and the span that it belongs to. */
  readonly traceparent?: string;
  /** The `traceparent` of the proxy's own span, which went to the gateway: that of the option `traceparent`. */
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
   * The gateway's own count, where the proxy reads it: in every JSON answer, and in a stream with a `meter`. Absent where
   * an object has asked the gateway: its `JobEvent` has it, once for each answer.
   */
  readonly usage?: Usage;
  /** The id of a stream that is kept, the answer's `x-stream-id`. Its payment is in the `JobEvent` with this id. */
  readonly streamId?: string;
  /** True where the answer was kept already: a create or a chat that was repeated with its key, and a stream that was read again. */
  readonly replayed?: boolean;
  /** The amounts that the meter has set aside and spent for this request, in its unit, where it says so. */
  readonly reserved?: number;
  readonly spent?: number;
  /** Number of requests to the gateway, where a second key was tried. @default 1 */
  readonly attempts?: number;
  /** The HTTP status of the gateway; absent where the proxy sent nothing to it, or got no answer. */
  readonly upstreamStatus?: number;
  /** Time from the request's arrival to the first byte of the answer's body, in milliseconds. */
  readonly firstByteMs?: number;
  /** Size of the body that was sent, in bytes; absent for a stream that the proxy passes on without reading it. */
  readonly bytes?: number;
  /** Time from the request's arrival to the end of the answer, in milliseconds. */
  readonly durationMs: number;
}

/**
 * An event of a request or of a job: `kind` tells them apart. A handler of it fits `onEvent` of `createProxy` and that of
 * each part, also where they share their options.
 */
export type AnyEvent = ProxyEvent | JobEvent;

/** The record of one request, which becomes its event. */
export type Report = ReturnType<typeof openReport>;

/**
 * @param notify is given the event at the end
 * @param logFailure is given what a function of the operator threw where the request does not depend on it
 */
export function openReport(
  request: Pick<Request, "method" | "headers">,
  notify: (event: ProxyEvent) => unknown,
  logFailure: (option: string, error: unknown) => void = () => {},
) {
  const { method } = request;
  const traceparent = traceparentOf(request);
  const startedAt = Date.now();
  /** The facts so far. Each gate adds its own. */
  const known: { -readonly [Key in keyof ProxyEvent]?: ProxyEvent[Key] } & { requestId: string } = {
    requestId: crypto.randomUUID(),
    ...(traceparent && { traceparent }),
  };
  /** Values beside the keys that the log must not show. */
  const secrets: string[] = [];
  const works: (() => void)[] = [];
  let isOver = false;
  return {
    known,
    startedAt,
    secrets,
    logFailure,
    /** Notes the time to the first byte of the answer. Later calls change nothing. */
    firstByte(): void {
      known.firstByteMs ??= Date.now() - startedAt;
    },
    /** Runs `work` at the end of the request, once. */
    atEnd(work: () => void): void {
      works.push(work);
    },
    /** Ends the report and notifies `onEvent`. Later calls change nothing. */
    end(status: number, code?: string): void {
      if (isOver) return;
      isOver = true;
      for (const work of works) work();
      const durationMs = Date.now() - startedAt;
      const outcome = outcomeOf(status, code, known.outcome);
      const event = {
        ...known,
        kind: "request",
        method,
        status,
        outcome,
        durationMs,
        ...(code && { code }),
      } as const;
      // `onEvent` may be async: on some hosts an unhandled rejection ends the process
      new Promise((resolve) => resolve(notify(event))).catch((error) => logFailure("onEvent", error));
    },
  };
}

function outcomeOf(status: number, code: string | undefined, end: Outcome = "complete"): Outcome {
  if (status === 499) return "left";
  if (status >= 400) return status < 500 ? "refused" : "failed";
  return code ? "cut" : end;
}

/** Writes one line to the operator's log. */
export function logError(problem: string): void {
  // biome-ignore lint/suspicious/noConsole: this is the log
  console.error(`sluice proxy: ${problem}`);
}
