import ky from "ky";
import type { AssetLookup } from "./asset.js";
import { after, type Clock, openSpan, type Span, unlessAborted } from "./clock.js";
import { APIError, type Issue, isGatewayError, type Outcome, TimeoutError, withDetails } from "./errors.js";
import type { CallIdentity, CallKind, CallOutcome, CallStep, CallSummary, ClientEvent } from "./events.js";
import { connectionError, errorOf, isRateLimit, isTransient, outcomeOf, requestIdOf } from "./failure.js";
import type { VideoTaskNormalizer } from "./task.js";

/** How long to wait, in milliseconds. `Number.POSITIVE_INFINITY` switches one off. */
export interface Timeouts {
  /**
   * From sending to the answer's headers. Default: 10 min for whole answers of a model, 1 min for queries, 5 min for
   * the rest.
   */
  readonly headersMs?: number;
  /**
   * From sending to the first chunk of a chat stream that carries something: text, thinking, a tool call. It bounds the
   * wait for the stream's headers too. @default 300_000
   */
  readonly firstChunkMs?: number;
  /** Between two such chunks of a chat stream; of any other answer, between two reads of its body. @default 60_000 */
  readonly chunkMs?: number;
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
  /** Numbers in [0, 1), for jitter. */
  readonly random: () => number;
  readonly assetLookup: AssetLookup | undefined;
  readonly normalizeVideoTask: VideoTaskNormalizer | undefined;
  readonly fetch: (request: Request) => Promise<Response>;
  /** The headers of a request made now, the key's among them. */
  readonly headers: () => Promise<Headers>;
  /** `text` without the key, for what an answer echoes. */
  readonly scrub: (text: string) => string;
  readonly emit: (event: ClientEvent) => void;
  /** Emits a `warning`, of a call where that is known. */
  readonly warn: (issue: Issue, callId?: string) => void;
}

/** One request with its answer, from before it is sent until its last byte is read. */
export interface Exchange extends Span, CallIdentity {
  readonly startedAt: number;
  readonly firstChunkMs: number;
  readonly chunkMs: number;
  readonly headersMs: number;
  readonly retry: Required<RetryOptions>;
}

/**
 * Opens an exchange: timers run and the caller's signal counts from here on. {@link closeExchange} closes it.
 *
 * @param headersMs the limit for the headers where the caller sets none; of a stream, `firstChunkMs`
 * @param model the request's model, for events
 */
export function openExchange(
  client: Client,
  path: string,
  { signal, timeouts, retry }: RequestOptions,
  headersMs: number | undefined,
  model?: unknown,
): Exchange {
  const {
    totalMs = Number.POSITIVE_INFINITY,
    firstChunkMs = 300_000,
    chunkMs = 60_000,
    ...rest
  } = { ...client.timeouts, ...timeouts };
  const late = () => new TimeoutError(`not finished after ${totalMs} ms (timeouts.totalMs)`, "total");
  return {
    callId: crypto.getRandomValues(new Uint32Array(4)).join("-"),
    kind: (/^\/(?:v1\/)?(chat|image|video|epsilon)/.exec(path)?.[1] ?? "asset") as CallKind,
    ...(typeof model === "string" && { model }),
    path,
    startedAt: client.clock.now(),
    firstChunkMs,
    chunkMs,
    headersMs: rest.headersMs ?? headersMs ?? firstChunkMs,
    retry: { ...client.retry, ...retry },
    ...openSpan(client.clock, signal, totalMs, late),
  };
}

/** Emits one step of a call. */
export function emitStep(client: Client, { callId, kind, model, path }: CallIdentity, step: CallStep): void {
  client.emit({ callId, kind, ...(model !== undefined && { model }), path, ...step });
}

/** Closes an exchange: emits its `end`, stops its timers and lets go of the caller's signal. */
export function closeExchange(
  client: Client,
  exchange: Exchange,
  { outcome = "success", usage, timing }: CallSummary,
  failure?: { readonly error: unknown },
): void {
  exchange.end();
  emitStep(client, exchange, {
    type: "end",
    outcome: failure ? callOutcomeOf(failure.error) : outcome,
    ms: client.clock.now() - exchange.startedAt,
    ...(usage && { usage }),
    ...(timing && { timing }),
    ...(failure && isGatewayError(failure.error) && { errorCode: failure.error.code }),
    ...failure,
  });
}

function callOutcomeOf(error: unknown): CallOutcome {
  if (!isGatewayError(error)) return "stopped";
  if (error.name === "StreamError") return error.reason === "truncated" ? "truncated" : "error";
  return error.outcome ?? "error";
}

/** What is sent, and how often. */
export interface Outgoing {
  readonly method: "get" | "post";
  /** Sent as JSON, or as it is if it is `FormData`. */
  readonly body?: unknown;
  readonly headers?: HeadersInit | undefined;
  /**
   * What is repeated: whatever may pass (`"any"`), or, for what bills, only what the gateway surely did not act on:
   * a 429 (`"refused-only"`). Errors of the latter say their `outcome`.
   */
  readonly repeat: "any" | "refused-only";
}

/**
 * Sends to the gateway and gives its answer as soon as the headers are there, repeating what is safe.
 *
 * @throws {APIError} for an answer that is no success
 * @throws {ConnectionError} when none came
 * @throws {TimeoutError} phase `headers` or `total`
 */
export async function send(
  client: Client,
  exchange: Exchange,
  { method, body, headers: extraHeaders, repeat }: Outgoing,
): Promise<Response> {
  const { path, signal, retry } = exchange;
  signal.throwIfAborted();
  let attempt = 0;
  let outcome: Outcome = "not-sent";
  try {
    const headers = await headersOf(client, exchange, body, extraHeaders);
    return await ky(client.baseURL + path, {
      method,
      headers,
      ...(body !== undefined && { body: body instanceof FormData ? body : JSON.stringify(body) }),
      signal,
      timeout: false,
      throwHttpErrors: false,
      // a redirect is an error: the key and the prompt go to the configured address and to no other
      redirect: "manual",
      // a cached answer would freeze a poll loop; some runtimes know no `cache`, and say so by throwing
      ...(method === "get" && "cache" in Request.prototype && { cache: "no-store" as const }),
      ...(client.credentials && { credentials: client.credentials }),
      fetch: (request) => {
        outcome = "unknown";
        return fetchOnce(client, exchange, request as Request, ++attempt).catch((error) => {
          outcome = outcomeOf(error);
          throw error;
        });
      },
      retry: {
        limit: retry.limit,
        methods: [method],
        // the wait is ours, on the client's clock
        delay: () => 0,
        shouldRetry: ({ error }) => waitToRepeat(client, exchange, attempt, error, repeat),
      },
    });
  } catch (error) {
    // runtimes differ in what an aborted fetch throws: the reason is what its owner gave
    const reason = signal.aborted ? signal.reason : error;
    throw repeat === "any" ? reason : withDetails(reason, { outcome });
  }
}

/** Waits for the time to repeat a failed attempt; false, at once, where it is not repeated. */
async function waitToRepeat(
  client: Client,
  exchange: Exchange,
  attempt: number,
  error: Error,
  repeat: Outgoing["repeat"],
): Promise<boolean> {
  const { signal, retry } = exchange;
  const askedMs = error instanceof APIError ? error.retryAfterMs : undefined;
  const isSafe = repeat === "any" ? isTransient(error) : isRateLimit(error);
  if (signal.aborted || !isSafe || (askedMs ?? 0) > retry.maxDelayMs) return false;
  const delayMs = askedMs ?? Math.min(retry.maxDelayMs, client.random() * 500 * 2 ** (attempt - 1));
  emitStep(client, exchange, { type: "retry", attempt, delayMs, error });
  if (delayMs > 0) await client.clock.sleep(delayMs, signal);
  return true;
}

async function headersOf(
  client: Client,
  { signal }: Exchange,
  body: unknown,
  extra: HeadersInit | undefined,
): Promise<Headers> {
  const headers = await unlessAborted(client.headers(), signal);
  for (const [name, value] of new Headers(extra)) headers.set(name, value);
  // of a form, the platform says the type, with its boundary
  if (body instanceof FormData) headers.delete("content-type");
  else if (body !== undefined) headers.set("content-type", "application/json");
  return headers;
}

async function fetchOnce(
  client: Client,
  exchange: Exchange,
  request: Request,
  attempt: number,
): Promise<Response> {
  const { signal, abort, headersMs } = exchange;
  const startedAt = client.clock.now();
  const answered = new AbortController();
  after(client.clock, headersMs, answered.signal, () =>
    abort(new TimeoutError(`no answer after ${headersMs} ms (timeouts.headersMs)`, "headers")),
  );
  emitStep(client, exchange, { type: "request", attempt });
  try {
    const response = await unlessAborted(client.fetch(request), signal);
    const requestId = requestIdOf(response);
    emitStep(client, exchange, {
      type: "response",
      attempt,
      status: response.status,
      ms: client.clock.now() - startedAt,
      ...(requestId !== undefined && { requestId }),
    });
    if (response.ok) return response;
    throw await errorOf(response, client.scrub);
  } catch (error) {
    if (signal.aborted || isGatewayError(error)) throw error;
    throw connectionError(error);
  } finally {
    answered.abort();
  }
}
