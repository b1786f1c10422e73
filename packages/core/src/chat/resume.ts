import { createBackoff } from "../base/backoff.js";
import type { Client, StreamResumption } from "../client.js";
import type { HeadersInput } from "../transport/headers.js";
import { createRetryClock } from "../transport/pauses.js";
import { type BodyReader, createBodyReader } from "../transport/read-body.js";
import { readRefusal } from "../transport/read-refusal.js";
import { type Exchange, type RequestOptions, send } from "../transport/send.js";
import { APIError, ValidationError } from "../types/errors.js";
import {
  createEventCursor,
  type Lost,
  openStoredConnection,
  type StoredConnection,
} from "./stored-connection.js";
import { type ChatStream, createStreamPath, openStream, stopStored, streamCode } from "./stream.js";

/** The value of the option `resume` with its internal types. */
export interface OpenResumption extends StreamResumption {
  readonly open: (response: ResumedResponse) => ResumedBytes;
}

/** A response that is read through several connections. */
interface ResumedResponse {
  readonly client: Client;
  readonly exchange: Exchange;
  readonly headers: HeadersInput | undefined;
  /** Id of a stored response to read from its start. */
  readonly id: string | undefined;
  /** Returns true once a `finish_reason` has arrived: the rest does not matter. */
  readonly isFinished: () => boolean;
  /** Called when a new connection continues the response. */
  readonly onConnect: () => void;
}

/** The bytes of a stored response: each event exactly once. */
export interface ResumedBytes {
  /** Id of the stored response; undefined if the proxy does not store it or has lost it. */
  readonly id: string | undefined;
  /** Error that rejected the request for the rest. The proxy may still store the response. */
  readonly refusal: unknown;
  /**
   * Requests a stored response from its start. Missing without resumption.
   *
   * @throws {ValidationError} without a valid `id`
   * @throws {APIError} if the proxy stores no such response
   */
  request?(): Promise<Response>;
  /** Reads the first response. */
  read(response: Response): BodyReader;
  /** Drops the connection after a limit; the next read resumes. Returns false if the response cannot be resumed. */
  drop(reason: unknown): boolean;
  /** Stops the response at the proxy, which would otherwise continue it. */
  stop(): void;
}

/** Options of {@link resumeChat}. */
export interface ChatResumeOptions extends Omit<RequestOptions, "retry" | "idempotencyKey" | "checks"> {
  /**
   * Stops the response itself when this reader aborts, leaves its loop or reaches `timeout.totalMs`. The proxy then
   * closes the connection to the gateway, and all other readers get an error. By default, only this reader stops.
   *
   * @default false
   */
  readonly stopOnAbort?: boolean;
}

/**
 * Resumes responses after a lost connection or a reload, if a proxy stores them (`resumableStreams()` of `@sluice/durable`). Has
 * no effect without such a proxy.
 *
 * @param options.maxAttempts requests in a row without a new event, before the response ends as `truncated`. The client
 *   waits between them, about half a minute in total. Default 5.
 * @example
 * ```ts
 * const client = createClient({ baseURL: "/api", resume: streamResumption() });
 * ```
 */
export function streamResumption({
  maxAttempts = 5,
}: {
  /** Requests in a row without a new event, before the response ends as `truncated`. @default 5 */
  maxAttempts?: number;
} = {}): StreamResumption {
  const resumption: OpenResumption = { open: (response) => openResumedBytes(response, maxAttempts - 1) };
  return Object.freeze(resumption);
}

/**
 * Reads a stored response (`resumableStreams()` of `@sluice/durable`) from its start, then live. Use it after a reload, on a
 * second device of the same user, or in a server that forwards the response. Sends nothing to the gateway and costs
 * nothing. Resumes after lost connections, even without the option `resume`.
 *
 * `abort()` of the stream does not stop the response for other readers, unless `stopOnAbort` is set. The `end` event of
 * the call has the path `/v1/chat/streams/…`, and its `usage` was already counted.
 *
 * @param streamId `streamId` of the `ChatStream` or `ChatMessage` that began the response; header `x-stream-id`
 * @throws {ValidationError} for an invalid id; nothing was sent
 * @throws {APIError} `status` 404 if the proxy stores no such response of this user: unknown, deleted, or never stored
 * @throws {StreamError} if the response broke or carried an error, or can't be reached now (`cause`)
 * @throws {TimeoutError} like `streamChat`
 * @example
 * ```ts
 * const stream = resumeChat(client, "0190a1b2");
 * for await (const delta of stream) if (delta.type === "text-delta") process.stdout.write(delta.text);
 * const { outcome } = await stream.result();
 * ```
 */
export function resumeChat(
  client: Client,
  streamId: string,
  { stopOnAbort = false, ...options }: ChatResumeOptions = {},
): ChatStream {
  const resuming = { ...client, resume: client.resume ?? streamResumption() };
  const path = createStreamPath(streamId);
  return openStream(resuming, options, { streamId: path && streamId, path, continuesAtProxy: !stopOnAbort });
}

const FIRST_WAIT_MS = 2000;
const MAX_WAIT_MS = 30_000;

const NOT_STORED =
  "the proxy stores no response under this id: it was deleted, is another user's, or never was";
const NO_ID = {
  path: "streamId",
  message: "must be the `streamId` of a response: 1 to 128 letters, digits, _ or -",
  rule: "chat.stream-id",
};
const end = { done: true, value: undefined } as const;

/** Opens the bytes. `limit`: largest number of waits in a row without progress. */
function openResumedBytes(
  { client, exchange, headers, id, isFinished, onConnect }: ResumedResponse,
  limit: number,
): ResumedBytes {
  const { signal, state, callId, kind, model } = exchange;
  const waits = { clock: createRetryClock(client, callId), random: client.random };
  const backoff = createBackoff(waits, { limit, firstMs: FIRST_WAIT_MS, longestMs: MAX_WAIT_MS });
  const cursor = createEventCursor();
  const encoder = new TextEncoder();
  let connection: StoredConnection | undefined;
  /** True if events arrived after the last request for the rest, or if no request was sent. */
  let hasProgress = true;
  let refusals = 0;
  let isConnecting = false;
  let isCancelled = false;

  const bytes = {
    get id() {
      return id;
    },
    refusal: undefined as unknown,
    async request() {
      if (id === undefined) throw new ValidationError([NO_ID]);
      const response = await requestRest();
      if (response) return response;
      id = undefined;
      throw new APIError(NOT_STORED, { status: 404, body: "" });
    },
    read(response: Response): BodyReader {
      id ??= response.headers.get("x-stream-id") ?? undefined;
      if (id === undefined || !isEventStream(response)) return createBodyReader(response);
      connection = openStoredConnection(response, cursor);
      return { read: readNext, cancel };
    },
    drop(reason: unknown) {
      // the requests for the rest have their own limits
      if (isConnecting) return (reason as { phase?: string }).phase === "chunk";
      if (!connection || id === undefined) return false;
      connection.lose(reason);
      return true;
    },
    stop() {
      stopStored(client, id, headers);
      id = undefined;
    },
  };
  return bytes;

  async function cancel(reason: unknown): Promise<void> {
    isCancelled = true;
    await connection?.cancel(reason);
  }

  async function readNext(): Promise<ReadableStreamReadResult<Uint8Array>> {
    while (connection) {
      const events = await connection.read();
      if (isCancelled) return end;
      if (events !== "") {
        hasProgress ||= connection.hasProgress;
        return { done: false, value: encoder.encode(events) };
      }
      const { lost } = connection;
      if (!lost) continue;
      if (signal.aborted) throw signal.reason;
      const response = await continueAfter(connection, lost);
      if (isCancelled) void response?.body?.cancel();
      if (isCancelled) return end;
      if (response) {
        cursor.restart();
        connection = openStoredConnection(response, cursor);
        onConnect();
        continue;
      }
      const rest = connection.rest;
      connection = undefined;
      if (rest !== "") return { done: false, value: encoder.encode(rest) };
      if (lost.cause !== undefined && !isFinished()) throw lost.cause;
    }
    return end;
  }

  /** Requests the rest after a lost connection; undefined if none is left, or if the proxy no longer stores it. */
  async function continueAfter({ isDone }: StoredConnection, { cause, isUpstream }: Lost) {
    if (isDone || isFinished()) return undefined;
    // a break that repeats right after a resumption is an error of the response
    const response = isUpstream && !hasProgress ? undefined : await requestRest(cause);
    if (!response) id = undefined;
    return response;
  }

  async function requestRest(cause?: unknown): Promise<Response | undefined> {
    isConnecting = true;
    try {
      return await repeatRequest(cause);
    } catch (refusal) {
      if (!signal.aborted) bytes.refusal = refusal;
      throw refusal;
    } finally {
      isConnecting = false;
    }
  }

  /**
   * Requests the rest of the response with `GET /v1/chat/streams/{id}` (`@sluice/durable`). Never sends the chat
   * request again. Returns undefined if the proxy no longer stores the response.
   *
   * @throws the last rejection or connection failure
   */
  async function repeatRequest(cause?: unknown): Promise<Response | undefined> {
    const path = createStreamPath(id);
    if (!path) return undefined;
    if (hasProgress) {
      backoff.reset();
      refusals = 0;
    }
    let failure: unknown;
    let isAgain = !hasProgress;
    hasProgress = false;
    for (; ; isAgain = true) {
      if (isAgain && backoff.failures >= limit) {
        if (failure === undefined || isUnknown(failure)) return undefined;
        throw failure;
      }
      if (isAgain) await wait(path, failure ?? cause);
      try {
        const response = await request(path);
        return response.status === 204 ? undefined : response;
      } catch (error) {
        if (isGone(error)) return undefined;
        if (signal.aborted || (isRefusal(error) && ++refusals > 1)) throw error;
        failure = error;
      }
    }
  }

  function wait(path: string, cause: unknown): Promise<void> {
    return backoff.wait(cause, {
      signal,
      onWait({ delayMs, failures: attempt }) {
        const error = cause instanceof Error ? cause : new Error("the connection failed");
        client.emit({ type: "retry", callId, kind, model, path, attempt, delayMs, error });
      },
    });
  }

  /** Sends one request with the app's current headers. Silence ends only this request, not the response. */
  async function request(path: string): Promise<Response> {
    const attempt = new AbortController();
    const abort = (reason: unknown) => attempt.abort(reason);
    if (signal.aborted) abort(signal.reason);
    signal.addEventListener("abort", () => abort(signal.reason));
    const behind = new Headers(headers);
    if (cursor.id !== "") behind.set("last-event-id", cursor.id);
    const own: Exchange = {
      ...exchange,
      path,
      signal: attempt.signal,
      abort,
      firstChunkMs: Math.min(exchange.firstChunkMs, exchange.chunkMs),
      retry: { ...exchange.retry, limit: 0 },
      // the gateway has already responded, even if this request fails
      state: { delivery: "unknown" },
    };
    const response = await send(client, own, { method: "get", headers: behind, failureCode: streamCode });
    state.delivery = "unknown";
    if (response.status === 204 || isEventStream(response)) return response;
    // a page or a JSON error with status 200, for example of a network that requires a sign-in
    throw await readRefusal(response, client, signal);
  }
}

function isEventStream({ headers }: Response): boolean {
  return headers.get("content-type")?.startsWith("text/event-stream") ?? false;
}

/** Returns true if the proxy reports that it does not store the response. */
function isGone(error: unknown): boolean {
  const { status, source } = error as Partial<APIError>;
  return status === 404 && source === "proxy";
}

/** Returns true if a server does not know the response. It may be another server, so one such error is not final. */
function isUnknown(error: unknown): boolean {
  const { status = 0 } = error as Partial<APIError>;
  return status === 404 || status === 410;
}

/** Returns true for a rejection that only other headers can change, for example after a new sign-in. */
function isRefusal(error: unknown): boolean {
  const { name, status = 0 } = error as Partial<APIError>;
  return (
    name === "APIError" && (status === 0 || status >= 300) && status < 500 && !TEMPORARY.includes(status)
  );
}

/** Statuses below 500 of temporary failures. */
const TEMPORARY: readonly number[] = [404, 408, 410, 425, 429];
