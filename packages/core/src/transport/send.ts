import { type Clock, callAtLimit, openSpan, rejectOnAbort, type Span } from "../base/clock.js";
import { isolate } from "../base/isolate.js";
import type { LazyModule } from "../base/lazy-module.js";
import { explain, noteOptions } from "../base/note-options.js";
import { assertFetch, assertPlatform } from "../base/platform.js";
import { createRandomId } from "../base/random-id.js";
import {
  APIError,
  ConfigurationError,
  type ConnectionError,
  cleanError,
  type Delivery,
  type Issue,
  isGatewayError,
  type Outcome,
  readDelivery,
  setDelivery,
  TimeoutError,
} from "../types/errors.js";
import type {
  CallIdentity,
  CallInfo,
  CallKind,
  CallSettings,
  CallStep,
  CallSummary,
  CallUsage,
  ClientEvent,
} from "../types/events.js";
import { isRecord } from "./error-response.js";
import { findDelivery, readRequestId, toConnectionError } from "./failure.js";
import type { FailureCode } from "./failure-code.js";
import { type HeadersInput, readHeaders } from "./headers.js";
import type { RepeatRule } from "./repeat-stored.js";
import { resolveAddress } from "./resolve-address.js";

declare const process: { readonly env: { readonly NODE_ENV?: string } };

/** Time limits of a request, in milliseconds. `Number.POSITIVE_INFINITY` switches a limit off. */
export interface Timeout {
  /**
   * Longest time from sending to the first content. For a chat stream: the first text, thinking or tool call. For any
   * other response: its headers.
   *
   * @default 300_000; 600_000 for a whole response of a model, 60_000 for a query
   */
  readonly firstChunkMs?: number;
  /**
   * Longest time between two such chunks of a chat stream, or between two reads of any other response. A stream that
   * the app does not read for this time, or at most twice this time, loses its connection, because the app may have
   * abandoned it. A later read returns the received data and then throws a `TimeoutError`. A stored response continues.
   *
   * @default 60_000
   */
  readonly chunkMs?: number;
  /** Longest time for the whole request and its response. @default Number.POSITIVE_INFINITY */
  readonly totalMs?: number;
}

/**
 * Repeating of a refused or failed attempt, before the first byte of a response. Chat requests and queries are repeated
 * after 408, 429, 5xx and failed connections. Other requests are repeated after a 429, and after the others only if the
 * proxy has `idempotency()`. Without a proxy that stores responses, a chat that had begun may be billed twice.
 */
export interface RetryOptions {
  /** Number of attempts after the first. 0 disables retries. @default 2 */
  readonly limit?: number;
  /** Longest wait before an attempt. If `Retry-After` is longer, the call fails at once. @default 30_000 */
  readonly maxRetryAfterMs?: number;
}

/** The `credentials` of `fetch`, which the types of Node and Workers lack. */
export type Credentials = "omit" | "same-origin" | "include";

/** Options of one request: the last argument of every function that sends one. They are not part of the body. */
export interface RequestOptions<Checks extends boolean = boolean> {
  /** Aborts the request. The promise rejects with the reason of the signal. */
  readonly signal?: AbortSignal | undefined;
  /** Additional headers. They override the client's headers of the same name. */
  readonly headers?: HeadersInput | undefined;
  /** Time limits. Each one overrides the client's. */
  readonly timeout?: Timeout | undefined;
  /** Retries of failed attempts. Each setting overrides the client's. */
  readonly retry?: RetryOptions | undefined;
  /**
   * Key that identifies a repeated request to a proxy: 1 to 255 visible ASCII characters, hard to guess. Reuse it only
   * for the same request, after an error with the `billing` `maybe`. Clients without an `apiKey` send it as
   * `idempotency-key` (see `idempotencyKeys` of `createClient`). A header of this name in `headers` wins.
   *
   * @default a random key for each call
   */
  readonly idempotencyKey?: string | undefined;
  /**
   * False sends the request unchecked, with any model and fields. Use it for a model or a field that this version does
   * not know. The caller is responsible for the fields.
   *
   * @default true
   * @example
   * ```ts
   * streamChat(client, { model: "alpha-v5", messages: [{ role: "user", content: "Hello" }] }, { checks: false });
   * ```
   */
  readonly checks?: Checks | undefined;
}

/** Arguments of the platform's `fetch`. */
export type FetchArguments = Parameters<typeof globalThis.fetch>;

/** The fields of a client that requests need. */
export interface Connection {
  /** Address of the gateway, without a trailing slash or `/v1`. */
  readonly baseURL: string;
  /** Passed to `fetch` as `credentials`: decides if cookies are sent. */
  readonly credentials: Credentials | undefined;
  /** Time limits of every request. */
  readonly timeout: Timeout;
  /** Retries of every request. */
  readonly retry: Required<RetryOptions>;
  /** Rule for repeating chat requests. @default they are repeated after every temporary failure */
  readonly repeatsChats?: RepeatRule;
  /** Clock of all waits. */
  readonly clock: Clock;
  /** Listeners for the events. A client and its copies share them. */
  readonly listeners: Set<(event: ClientEvent) => void>;
  /** Returns numbers from 0 (included) to 1 (excluded) for the jitter of waits. */
  readonly random: () => number;
  /** Sends one request, with the `fetch` of the options or the platform. */
  readonly fetch: typeof globalThis.fetch;
  /** True if the options set `fetch`. */
  readonly hasOwnFetch: boolean;
  /** Creates the arguments of `fetch`. Throws if the platform rejects `init`. */
  readonly prepare: (address: string, init: RequestInit) => FetchArguments;
  /** True if billable requests carry an `idempotency-key`. */
  readonly idempotencyKeys: boolean;
  /** Returns the headers of a request, with the current key. */
  readonly headers: (request: CallInfo) => Promise<Headers>;
  /** Returns `text` without the keys sent so far. */
  readonly scrub: (text: string) => string;
  /** Emits an event. Resolves when the promises that listeners return have settled. */
  readonly emit: (event: ClientEvent) => Promise<unknown>;
  /** Emits a `warning`; `callId` is its call. */
  readonly warn: (issue: Issue, callId?: string) => void;
}

/** One request and its response, from before the request is sent until the last byte is read. */
export interface Exchange extends Span, CallIdentity {
  /** How far the request got so far. */
  readonly state: {
    /** `not-sent`, `refused`, or `unknown` if the gateway may have acted. */
    delivery: Delivery;
    /** The headers of the last response, which list the proxy's features. */
    headers?: Headers;
    /** Features of the proxy, if they were fetched after a lost response. */
    features?: readonly string[];
  };
  /** The request, or the handle of a task. */
  readonly subject: unknown;
  /** Time of the call on the client's clock. */
  readonly startedAt: number;
  /** Limit until the first content, in milliseconds. */
  readonly firstChunkMs: number;
  /** Limit between two pieces of the response, in milliseconds. */
  readonly chunkMs: number;
  /** Retries of the call. */
  readonly retry: Required<RetryOptions>;
  /** The caller's `idempotency-key`. */
  readonly idempotencyKey: string | undefined;
}

/** Description of a call. */
export interface CallDescription {
  /** Purpose of the call. */
  readonly kind: CallKind;
  /** The gateway's path, `/v1/…`. */
  readonly path: string;
  /** The request, or the handle of a task. Events carry its `model` and its settings. */
  readonly subject?: unknown;
  /** True for a chat that streams. @default false */
  readonly isStream?: boolean;
  /** Default limit until the first content. @default 300_000 */
  readonly firstChunkMs?: number;
}

/**
 * Random part of all call ids. Created once, because creating it takes a tenth of the client's time before the first
 * chunk.
 */
let origin = "";
let calls = 0;

/**
 * Opens an exchange: starts its timers and listens to the caller's signal. {@link closeExchange} closes it.
 *
 * @throws {ConfigurationError} if `createClient` did not create `client`
 */
export function openExchange(
  client: Connection,
  { kind, path, subject, isStream, firstChunkMs: defaultMs = 300_000 }: CallDescription,
  options: RequestOptions,
): Exchange {
  noteOptions("a request", options, client);
  assertPlatform(options);
  const { signal, timeout, retry, idempotencyKey } = options;
  const model = (subject as { readonly model?: unknown } | undefined)?.model;
  const {
    totalMs = Number.POSITIVE_INFINITY,
    firstChunkMs = defaultMs,
    chunkMs = 60_000,
  } = { ...client.timeout, ...timeout };
  origin ||= createRandomId();
  calls += 1;
  const createLateError = () =>
    new TimeoutError(`not finished after ${totalMs} ms (timeout.totalMs)`, "total");
  return {
    callId: `${origin}-${calls}`,
    kind,
    model: typeof model === "string" ? model : undefined,
    path,
    settings: readSettings(subject, isStream),
    subject,
    state: { delivery: "not-sent" },
    startedAt: client.clock.now(),
    firstChunkMs,
    chunkMs,
    retry: { ...client.retry, ...retry },
    idempotencyKey,
    ...openSpan(client.clock, signal, totalMs, createLateError),
  };
}

/** Names of the settings in events. None of these fields contains a prompt. */
const SETTINGS =
  "max_tokens temperature top_p reasoning_effort stop seed n size resolution duration audio generate_audio response_format stream";

function readSettings(subject: unknown, isStream: boolean | undefined): CallSettings | undefined {
  const request = isRecord(subject) ? subject : {};
  const format = request.response_format as { readonly type?: unknown } | null | undefined;
  const fields: Record<string, unknown> = {
    ...(request.parameters as object | undefined),
    ...request,
    response_format: format?.type,
    stream: isStream,
  };
  const settings = SETTINGS.split(" ").flatMap((name) =>
    fields[name] == null ? [] : [[name, fields[name]]],
  );
  return settings.length > 0 ? Object.fromEntries(settings) : undefined;
}

/**
 * Emits one step of a call.
 */
export function emitStep(client: Connection, call: CallIdentity, step: CallStep): Promise<unknown> {
  return client.emit({ ...pickIdentity(call), ...step });
}

/** Picks the identity of a call, without the request of the exchange. */
export function pickIdentity({ callId, kind, model, path, settings }: CallIdentity): CallIdentity {
  return { callId, kind, model, path, settings };
}

/**
 * Closes an exchange: emits its `end`, stops its timers and removes its listener from the caller's signal. Sets the
 * `billing` of an error of this library, and removes the key from its texts.
 */
export function closeExchange(
  client: Connection,
  exchange: Exchange,
  { outcome = "complete", usage, timing, id, model, finishReason }: CallSummary,
  failure?: {
    /** Error of the call. */
    readonly error: unknown;
  },
): void {
  exchange.end();
  if (isGatewayError(failure?.error)) {
    if (failure.error.billing === undefined) setDelivery(failure.error, exchange.state.delivery);
    cleanError(failure.error, client.scrub);
  }
  emitStep(client, exchange, {
    type: "end",
    outcome: failure ? findOutcome(failure.error) : outcome,
    durationMs: client.clock.now() - exchange.startedAt,
    responseId: cleanWord(client, id),
    responseModel: cleanWord(client, model),
    finishReason: cleanWord(client, finishReason),
    usage: usage ? pickCounts(usage) : undefined,
    timing: failure ? undefined : timing,
    ...failure,
  });
}

/** Longest text of a response in an event. Ids and names are shorter. */
const MAX_WORD_LENGTH = 200;

/** Returns an id or a name of a response, without the key. */
function cleanWord({ scrub }: Connection, text: string | null | undefined): string | undefined {
  return text ? scrub(text).slice(0, MAX_WORD_LENGTH) : undefined;
}

/** Picks the numbers of the gateway's usage, two levels deep. Other fields may contain text. */
function pickCounts(usage: object, isDeep = true): CallUsage {
  const counts: [string, unknown][] = [];
  for (const [name, value] of Object.entries(usage))
    if (typeof value === "number") counts.push([name, value]);
    else if (isDeep && isRecord(value)) counts.push([name, pickCounts(value, false)]);
  return Object.fromEntries(counts);
}

function findOutcome(error: unknown): Outcome {
  // every failure but a stop is an error of this library
  if (!isGatewayError(error)) return "stopped";
  if (error.name === "StreamError") return error.reason === "truncated" ? "truncated" : "error";
  return readDelivery(error) === "not-sent" ? "not-sent" : "error";
}

/** A request and its retry rule. */
export interface Outgoing {
  readonly method: "get" | "post";
  /**
   * Creates the body. `FormData` is sent unchanged, other values as JSON. Errors of this library pass unchanged, others
   * become a `ConfigurationError`.
   */
  readonly body?: (() => unknown) | undefined;
  readonly headers?: HeadersInput | undefined;
  /**
   * Rule for repeating a create request other than a chat. Without a rule, the request is repeated after every temporary
   * failure.
   */
  readonly repeats?: RepeatRule | undefined;
  /** The code that describes a refusal and repeats the request. It is loaded early, because the network may fail later. */
  readonly failureCode: LazyModule<FailureCode>;
}

/**
 * Sends a request to the gateway, and repeats it if that is safe. Returns the response as soon as its headers arrive.
 * Throws only errors of this library with their `billing`, the signal's reason, or an `AbortError` of a function in the
 * options.
 *
 * @throws {APIError} for an error status
 * @throws {ConnectionError} when no response came
 * @throws {TimeoutError} phase `first-chunk` or `total`
 * @throws {ConfigurationError} when the request can't be created; nothing was sent
 */
export async function send(
  client: Connection,
  exchange: Exchange,
  { method, body: makeBody, headers: extraHeaders, repeats, failureCode }: Outgoing,
): Promise<Response> {
  const { path, signal, abort, retry, state } = exchange;
  void loadFailureCode();
  let attempt = 0;
  let idempotencyKey: string | undefined;
  try {
    const made = makeBody?.();
    signal.throwIfAborted();
    const body = made instanceof Promise ? await rejectOnAbort(made, signal) : made;
    const isForm = body instanceof FormData;
    const headers = await rejectOnAbort(client.headers(pickIdentity(exchange)), signal);
    if (extraHeaders) for (const [name, value] of readHeaders(extraHeaders)) headers.set(name, value);
    // a query by POST creates nothing
    const isChat = method === "post" && exchange.kind === "chat";
    if ((isChat || repeats) && client.idempotencyKeys && !headers.has(KEY_HEADER))
      headers.set(KEY_HEADER, exchange.idempotencyKey ?? createRandomId());
    idempotencyKey = headers.get(KEY_HEADER) ?? undefined;
    // the platform sets the type of a form, with its boundary
    if (isForm) headers.delete("content-type");
    else if (body !== undefined) headers.set("content-type", "application/json");
    const init: RequestInit & { readonly headers: Headers } = {
      method,
      headers,
      ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
      signal,
      // a redirect is an error: the key and the prompt must only reach the configured address
      redirect: "manual",
      // a cached response would stall a poll loop. Some runtimes do not support `cache` and throw
      ...(method === "get" && "cache" in Request.prototype && { cache: "no-store" }),
      ...(client.credentials && { credentials: client.credentials }),
    };
    return await attemptOnce(client.prepare(resolveAddress(client, path), init)).catch(
      async (error: Error) => {
        const loaded = retry.limit > 0 ? await loadFailureCode() : undefined;
        if (!loaded) throw error;
        return loaded.repeat(error, {
          client,
          exchange,
          init,
          rule: isChat ? client.repeatsChats : repeats,
          attempt: (request) => attemptOnce([request]),
        });
      },
    );
  } catch (error) {
    const explaining = explain(error, exchange.subject);
    if (explaining) await explaining;
    throw toKnownError(error, exchange);
  }

  function loadFailureCode() {
    return failureCode.load().catch(() => undefined);
  }

  function attemptOnce(given: FetchArguments): Promise<Response> {
    state.delivery = "unknown";
    return fetchOnce(given).catch((error) => {
      state.delivery = findDelivery(error);
      throw error;
    });
  }

  async function fetchOnce(given: FetchArguments): Promise<Response> {
    attempt += 1;
    // a listener may store a record of the attempt first. Its failure changes nothing
    await emitStep(client, exchange, { type: "request", attempt, idempotencyKey }).catch((error) =>
      isolate(() => {
        throw error;
      }),
    );
    const startedAt = client.clock.now();
    const inTime = new AbortController();
    limitFirstChunk(client, exchange, inTime.signal, abort);
    let response: Response;
    try {
      response = await rejectOnAbort(client.fetch(...given), signal);
    } catch (cause) {
      if (signal.aborted || isGatewayError(cause)) throw cause;
      assertFetch(client, cause);
      const error = toConnectionError(cause);
      await explainOrigin(error, client);
      cleanError(error, client.scrub);
      throw error;
    } finally {
      inTime.abort(null);
    }
    state.headers = response.headers;
    const requestId = readRequestId(response);
    emitStep(client, exchange, {
      type: "response",
      attempt,
      status: response.status,
      durationMs: client.clock.now() - startedAt,
      requestId: requestId && client.scrub(requestId),
    });
    if (response.ok) return response;
    const loaded = await loadFailureCode();
    const { status } = response;
    const refusal = loaded
      ? await loaded.readRefusal(response, client, signal)
      : new APIError(`HTTP ${status}`, { status, body: "" }, { requestId });
    // a limit that passes while the body is read changes nothing: the response was a rejection
    if (signal.aborted && !isGatewayError(signal.reason)) throw signal.reason;
    cleanError(refusal, client.scrub);
    throw refusal;
  }
}

const KEY_HEADER = "idempotency-key";

/** Adds advice about CORS to a failure across origins, in development. Never rejects. */
function explainOrigin(error: ConnectionError, client: Connection): Promise<void> | undefined {
  try {
    if (process.env.NODE_ENV !== "production")
      return import("./explain-origin.js")
        .then(({ addOriginAdvice }) => addOriginAdvice(error, client))
        .catch(() => {});
  } catch {
    // a page without a bundler lacks `process`
  }
}

/** Calls `late` with the error of the limit until the first content, unless `arrived` aborts before. */
export function limitFirstChunk(
  { clock }: Pick<Connection, "clock">,
  { firstChunkMs }: Pick<Exchange, "firstChunkMs">,
  arrived: AbortSignal,
  late: (error: TimeoutError) => void,
): void {
  const text = `nothing came for ${firstChunkMs} ms (timeout.firstChunkMs)`;
  callAtLimit(clock, firstChunkMs, arrived, () => late(new TimeoutError(text, "first-chunk")));
}

/** Converts any error to an error of this library. An abort stays unchanged. */
function toKnownError(error: unknown, { signal, state }: Exchange): unknown {
  if (isGatewayError(error)) return error;
  // runtimes throw different errors for an aborted fetch: the signal has the caller's reason
  if (signal.aborted) return signal.reason;
  const { name, message = String(error) } = (error ?? {}) as Partial<Error>;
  if (name === "AbortError") return error;
  return state.delivery === "not-sent"
    ? new ConfigurationError(`the request could not be made, and was not sent: ${message}`, {
        cause: error,
      })
    : toConnectionError(error);
}
