import ky from "ky";
import type { Clock } from "./clock.js";
import { apiErrorOf } from "./error-body.js";
import { APIError, ConnectionError, isGatewayError, TimeoutError } from "./errors.js";
import type { ClientEvent } from "./events.js";

/** How long to wait, in milliseconds. `Number.POSITIVE_INFINITY` switches one off. */
export interface Timeouts {
  /** From sending to the answer's headers. Default: 10 min for whole answers, 5 min for streams. */
  readonly headersMs?: number;
  /** Between two reads of the answer; any byte counts, a keep-alive comment too. @default 60_000 */
  readonly idleMs?: number;
  /** For the request with all of its answer. @default Number.POSITIVE_INFINITY */
  readonly totalMs?: number;
}

/** How a refused or failed attempt is repeated; never after the first byte of an answer. */
export interface RetryOptions {
  /** How many times at most after the first attempt. @default 2 */
  readonly limit?: number;
  /** The longest wait; a `Retry-After` beyond it is not waited for: the error says so at once. @default 30_000 */
  readonly maxDelayMs?: number;
}

/** What every verb takes last. None of it is part of the request's body. */
export interface RequestOptions {
  /** Aborts the request; what was awaited rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Added to the client's own headers, and stronger than they are. */
  readonly headers?: HeadersInit | undefined;
  readonly timeouts?: Timeouts | undefined;
  readonly retry?: RetryOptions | undefined;
}

/**
 * The gateway as seen by the verbs: an address, a way to sign requests, and habits. Made by `createClient`;
 * frozen, and without the key in any of its fields, so that it can be logged.
 */
export interface Client {
  /** The gateway's root, without a trailing slash or `/v1`. */
  readonly baseURL: string;
  readonly credentials: RequestCredentials | undefined;
  readonly timeouts: Timeouts;
  readonly retry: Required<RetryOptions>;
  readonly clock: Clock;
  readonly fetch: (request: Request) => Promise<Response>;
  /** The headers of a request made now, the key's among them. */
  readonly headers: () => Promise<Headers>;
  /** `text` without the key, for what an answer echoes. */
  readonly scrub: (text: string) => string;
  readonly emit: (event: ClientEvent) => void;
}

/** One request with its answer, from before it is sent until its last byte is read. */
export interface Exchange {
  readonly path: string;
  readonly startedAt: number;
  readonly idleMs: number;
  readonly headersMs: number;
  readonly retry: Required<RetryOptions>;
  /** Aborts when the caller does, when a timeout is over, or when `abort` is called. */
  readonly signal: AbortSignal;
  readonly abort: (reason: unknown) => void;
  /** The answer has been read: stops the timers and lets go of the caller's signal. */
  readonly end: () => void;
}

/** Opens an exchange: timers run and the caller's signal counts from here on. */
export function openExchange(
  client: Client,
  path: string,
  { signal, timeouts, retry }: RequestOptions,
  headersMs: number,
): Exchange {
  const {
    totalMs = Number.POSITIVE_INFINITY,
    idleMs = 60_000,
    ...rest
  } = { ...client.timeouts, ...timeouts };
  const controller = new AbortController();
  const ended = new AbortController();
  const follow = () => controller.abort(signal?.reason);
  if (signal?.aborted) follow();
  // the caller's signal may outlive thousands of requests: the listener goes when the exchange ends
  signal?.addEventListener("abort", follow, { signal: ended.signal });
  after(client, totalMs, ended.signal, () =>
    controller.abort(new TimeoutError(`not finished after ${totalMs} ms (timeouts.totalMs)`, "total")),
  );
  return {
    path,
    startedAt: client.clock.now(),
    idleMs,
    headersMs: rest.headersMs ?? headersMs,
    retry: { ...client.retry, ...retry },
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    end: () => ended.abort(),
  };
}

/**
 * Sends JSON to the gateway and gives its answer as soon as the headers are there, retrying what is safe.
 *
 * @throws {APIError} for an answer that is no success
 * @throws {ConnectionError} when none came
 * @throws {TimeoutError} phase `headers` or `total`
 */
export async function post(
  client: Client,
  exchange: Exchange,
  body: unknown,
  extraHeaders?: HeadersInit,
): Promise<Response> {
  const { path, signal, retry } = exchange;
  signal.throwIfAborted();
  const headers = await client.headers();
  for (const [name, value] of new Headers(extraHeaders)) headers.set(name, value);
  headers.set("content-type", "application/json");
  let attempt = 0;
  let retryAfterMs: number | undefined;
  try {
    return await ky.post(client.baseURL + path, {
      headers,
      body: JSON.stringify(body),
      signal,
      timeout: false,
      throwHttpErrors: false,
      // a redirect is an error: the key and the prompt go to the configured address and to no other
      redirect: "manual",
      ...(client.credentials && { credentials: client.credentials }),
      fetch: (request) => fetchOnce(client, exchange, request as Request, ++attempt),
      retry: {
        limit: retry.limit,
        methods: ["post"],
        backoffLimit: retry.maxDelayMs,
        delay: (retries) => retryAfterMs ?? 500 * 2 ** (retries - 1),
        jitter: (delay) => (retryAfterMs === undefined ? Math.random() * delay : delay),
        shouldRetry({ error }) {
          retryAfterMs = error instanceof APIError ? error.retryAfterMs : undefined;
          const retried = !signal.aborted && isTransient(error) && (retryAfterMs ?? 0) <= retry.maxDelayMs;
          if (retried) client.emit({ type: "retry", path, attempt, error });
          return retried;
        },
      },
    });
  } catch (error) {
    // runtimes differ in what an aborted fetch throws: the reason is what its owner gave
    throw signal.aborted ? signal.reason : error;
  }
}

async function fetchOnce(
  client: Client,
  { path, signal, abort, headersMs }: Exchange,
  request: Request,
  attempt: number,
): Promise<Response> {
  const startedAt = client.clock.now();
  const answered = new AbortController();
  after(client, headersMs, answered.signal, () =>
    abort(new TimeoutError(`no answer after ${headersMs} ms (timeouts.headersMs)`, "headers")),
  );
  client.emit({ type: "request", path, attempt });
  try {
    const response = await unlessAborted(client.fetch(request), signal, answered.signal);
    const requestId = requestIdOf(response);
    const { status } = response;
    const ms = client.clock.now() - startedAt;
    client.emit({ type: "response", path, status, ms, ...(requestId !== undefined && { requestId }) });
    if (response.ok) return response;
    throw await errorOf(client, response);
  } catch (error) {
    if (signal.aborted || isGatewayError(error)) throw error;
    throw connectionError(error);
  } finally {
    answered.abort();
  }
}

/** `answer`, or the signal's reason: a `fetch` of somebody else's may not listen to its request's signal. */
function unlessAborted<T>(answer: Promise<T>, signal: AbortSignal, over: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { signal: over });
    if (signal.aborted) reject(signal.reason);
    answer.then(resolve, reject);
  });
}

/** The gateway's or the proxy's id of a request, if the answer names one. */
export function requestIdOf({ headers }: Response): string | undefined {
  return headers.get("x-request-id") ?? undefined;
}

async function errorOf(client: Client, response: Response): Promise<APIError> {
  const requestId = requestIdOf(response);
  if (response.type === "opaqueredirect" || (response.status >= 300 && response.status < 400)) {
    const message = `HTTP ${response.status || "redirect"}: the base URL redirects; set baseURL to the final address`;
    return new APIError(message, { status: response.status, body: "" }, { requestId });
  }
  const retryAfterMs = retryAfterOf(response);
  const body = client.scrub(await response.text());
  return apiErrorOf(response, body, { requestId, retryAfterMs });
}

/** `Retry-After` in milliseconds: seconds, with a fraction too, or a date; undefined for anything else. */
function retryAfterOf({ headers }: Response): number | undefined {
  const value = headers.get("retry-after")?.trim();
  if (!value) return undefined;
  const ms = /^\d+(\.\d+)?$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, Math.ceil(ms));
}

function isTransient(error: Error): boolean {
  if (!(error instanceof APIError)) return error instanceof ConnectionError;
  return error.status === 408 || error.status === 429 || error.status >= 500;
}

const NEVER_CONNECTED =
  /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|CONNECT_TIMEOUT|Connection ?Refused|FailedToOpenSocket|dns error|tcp connect error/i;

function connectionError(cause: unknown): ConnectionError {
  const { cause: reason, message } = cause as {
    cause?: { code?: unknown; message?: unknown };
    message?: string;
  };
  const said = `${message} ${reason?.code} ${reason?.message}`;
  const outcome = NEVER_CONNECTED.test(said) ? "not-sent" : "unknown";
  const text =
    outcome === "not-sent"
      ? "could not connect to the gateway: nothing was sent; check the base URL and the network"
      : "the connection failed before an answer came; the gateway may have received the request";
  return new ConnectionError(text, outcome, { cause });
}

/** Calls `act` after `ms`, unless `cancelled` aborts first. */
function after(client: Client, ms: number, cancelled: AbortSignal, act: () => void): void {
  if (ms === Number.POSITIVE_INFINITY) return;
  client.clock.sleep(ms, cancelled).then(act, () => {});
}
