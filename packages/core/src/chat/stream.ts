import { callAfter, openSpan } from "../base/clock.js";
import { createLazyModule } from "../base/lazy-module.js";
import { noteStored } from "../base/note-options.js";
import type { RequestFor } from "../base/validate.js";
import type { Client } from "../client.js";
import { createRequest } from "../transport/create-request.js";
import { readRequestId } from "../transport/failure.js";
import type { HeadersInput } from "../transport/headers.js";
import { type ByteReader, createBodyReader, readBody } from "../transport/read-body.js";
import {
  closeExchange,
  type Exchange,
  emitStep,
  limitFirstChunk,
  openExchange,
  type RequestOptions,
  send,
} from "../transport/send.js";
import { ConnectionError, type Issue, isGatewayError, TimeoutError } from "../types/errors.js";
import { createFold } from "./protocol/accumulate.js";
import type { AssistantMessage, ChatDelta, ChatResult, ChatTiming } from "./protocol/delta.js";
import { CHAT_PATH, createStreamedRequest } from "./protocol/request.js";
import type { ResponseReader } from "./protocol/response-reader.js";
import type { ChatRequest, ChatRequests } from "./protocol/schema.js";
import { createCutError, type StreamMetadata } from "./protocol/stream-error.js";
import type { StreamParser } from "./protocol/stream-parser.js";
import type { OpenResumption, ResumedBytes } from "./resume.js";

/**
 * A streaming response. Iterate it for deltas, or only await `result()`. Leaving the loop aborts the request. The
 * stream can be read once. It reads from the network only as fast as the loop consumes. A loop that does not request a
 * delta for `timeout.chunkMs` loses its connection.
 */
export interface ChatStream extends AsyncIterable<ChatDelta> {
  /** Message so far; complete once the stream has ended. After `result()` it may be ahead of a slow loop. */
  readonly snapshot: AssistantMessage;
  /** Times so far. After the end they equal `ChatTurn.timing`. */
  readonly timing: ChatTiming;
  /** Metadata of the response, available from the first delta. */
  readonly head: {
    /** Id of the response; empty if it has none. */
    readonly id: string;
    /** Model of the response; empty if the response names none. */
    readonly model: string;
    /** Time of the response in Unix seconds; 0 if it has none. */
    readonly created: number;
  };
  /**
   * Id under which the proxy stores the response. Undefined before the headers arrive, and if the proxy does not store
   * the response or has lost it. The id stays after a connection error or a rejection, because the response may still
   * exist.
   */
  readonly streamId: string | undefined;
  /**
   * The text of the response as a stream of strings, instead of deltas. Iterate it or pipe it. Cancelling it or leaving
   * its loop aborts the request.
   */
  readonly textStream: ReadableStream<string> & AsyncIterable<string>;
  /**
   * Reads the stream to its end and returns the whole response, at the latest with the delta `finish`. Call it at any
   * time, even during a loop: it reads at full speed, and the loop still gets each delta in order. Meanwhile, the
   * deltas stay in memory.
   */
  result(): Promise<ChatResult>;
  /** Aborts the request. Pending promises reject with `reason`, by default an `AbortError`. */
  abort(reason?: unknown): void;
}

/**
 * Sends a chat request and streams the response (spec, `POST /v1/chat/completions`).
 *
 * Checks and sends the request at once. The iteration and `result()` throw its errors. The stream succeeds only if a
 * `finish_reason` arrives. With `[DONE]` alone, the outcome is `unconfirmed`, with a `warning`. Fields of an unexpected
 * type are ignored, with one `warning`.
 *
 * @param request the gateway's own fields; leave `stream` out
 * @throws {ValidationError} when a rule of the model is broken; nothing was sent
 * @throws {APIError} when the gateway refuses
 * @throws {ConnectionError} when no response came
 * @throws {TimeoutError} phase `first-chunk`, `chunk` or `total`; with `partial` once the stream had begun
 * @throws {StreamError} when the stream broke or carried an error; `partial` has the message so far
 * @example
 * ```ts
 * const stream = streamChat(client, { model: "delta-5.3", messages: [{ role: "user", content: "Hello" }] });
 * for await (const delta of stream) if (delta.type === "text-delta") process.stdout.write(delta.text);
 * const { outcome, usage } = await stream.result();
 * ```
 */
export function streamChat<const Model extends string, Checks extends boolean = true>(
  client: Client,
  request: RequestFor<Model, ChatRequests, Checks>,
  options: RequestOptions<Checks> = {},
): ChatStream {
  // without a request, `openStream` would read a stored response
  return openStream(client, options, { request: (request ?? {}) as ChatRequest });
}

/** The fields of a stream that `toResponse` needs. */
export interface OpenStream extends ChatStream {
  /** Resolves with the response headers; rejects if the request failed. */
  readonly opening: Promise<void>;
  /** True once `[DONE]` has come. */
  readonly isDone: boolean;
}

/** Origin of a response: a request, or the proxy that stores it. */
export interface ResponseSource {
  readonly request?: ChatRequest | undefined;
  /** Id of a stored response, read from its start; used without a `request`. Requires a client with `resume`. */
  readonly streamId?: string | undefined;
  /** Path of a stored response. */
  readonly path?: string | undefined;
  /** True if the proxy continues the response after this reader stops. @default false */
  readonly continuesAtProxy?: boolean;
}

/** A delta, or the end of the deltas. */
type Step = IteratorResult<ChatDelta, undefined>;
const noMore: Step = { done: true, value: undefined };

/** Code that reads a response, and repeats a failed request. */
export const streamCode = createLazyModule(() => import("./protocol/stream-code.js"));

/** Returns a request once the code for its response is loaded. Without the code, a paid response would be lost. */
function awaitCode(request: object): object | Promise<object> {
  if (streamCode.loaded) return request;
  return streamCode.load().then(
    () => request,
    (cause) => {
      throw new ConnectionError("the code of this page can't be loaded; nothing was sent", "none", { cause });
    },
  );
}

/** Time to wait for `[DONE]` or usage after a `finish_reason`. The response is complete without them. */
const FINISH_GRACE_MS = 2000;
/** Limit of the request that stops a stored response, in milliseconds, because its connection may be lost silently. */
const STOP_MS = 30_000;

/** Streams the response of a source. */
export function openStream(client: Client, options: RequestOptions, source: ResponseSource): OpenStream {
  const { request, path = CHAT_PATH } = source;
  const exchange = openExchange(client, { kind: "chat", path, subject: request, isStream: true }, options);
  const deltas = createDeltaQueue();
  const head = { id: "", model: "", created: 0 };
  const settlement = createSettlement(client, exchange);
  const reader = openReader(client, options, source, { exchange, deltas, head, settlement });
  let readBy: "a loop" | "result()" | undefined;
  let hasLeft = false;
  let textStream: ChatStream["textStream"] | undefined;
  const stream: OpenStream = {
    get snapshot() {
      return deltas.message;
    },
    head,
    get timing() {
      return settlement.createTiming();
    },
    get streamId() {
      return reader.getStreamId();
    },
    opening: reader.opening,
    get isDone() {
      return reader.getParser()?.end?.type === "done";
    },
    get textStream() {
      textStream ??= createTextStream(stream);
      return textStream;
    },
    result() {
      // a loop that starts in the same tick takes precedence
      queueMicrotask(() => {
        readBy ??= "result()";
        void reader.readToEnd(readBy === "a loop");
      });
      return settlement.result;
    },
    abort: (reason = createAbortError("The stream was aborted")) => exchange.abort(reason),
    [Symbol.asyncIterator]() {
      if (readBy) throw new TypeError(`this stream is already read by ${readBy}; a stream can be read once`);
      readBy = "a loop";
      return { next: () => Promise.resolve(hasLeft ? noMore : reader.readNext()), return: leave };
    },
  };
  return stream;

  async function leave(): Promise<Step> {
    if (reader.getParser()?.isWhole) await reader.readToEnd(false);
    else exchange.abort(createAbortError("The loop over the stream was left"));
    hasLeft = true;
    return noMore;
  }
}

/** A response before its bytes. */
interface OpenResponse {
  readonly exchange: Exchange;
  readonly deltas: ReturnType<typeof createDeltaQueue>;
  /** Gets the id, model and time of the response. */
  readonly head: { id: string; model: string; created: number };
  readonly settlement: ReturnType<typeof createSettlement>;
}

/**
 * Reads a response from its request to its end, as fast as its consumer takes the deltas. It ends once, with a result or
 * an error.
 */
function openReader(
  client: Client,
  options: RequestOptions,
  { request, streamId, continuesAtProxy }: ResponseSource,
  { exchange, deltas, head, settlement }: OpenResponse,
) {
  const { signal, abort } = exchange;
  const { ended } = settlement;
  let hasContent = false;
  /** True if content arrived after the last read. */
  let isAlive = false;
  let isInGrace = false;
  let opened: Response | undefined;
  let reader: ResponseReader | undefined;
  let parser: StreamParser | undefined;
  let body: ByteReader<Step | undefined> | undefined;
  /** The pending read. */
  let reading: Promise<Step | undefined> | undefined;
  /** True if the pending read returns the loop's next step, which saves a promise for each read. */
  let returnsStep = false;
  const isFinished = () => reader?.finished === true;
  const source = ((client.resume as OpenResumption | undefined) ?? oneConnection).open({
    client,
    exchange,
    headers: options.headers,
    id: request ? undefined : streamId,
    isFinished,
    onConnect: () => body?.restart(),
  });

  limitSilence();
  const requested = request
    ? send(client, exchange, {
        method: "post",
        body: () => awaitCode(createStreamedRequest(client, request, options)),
        headers: options.headers,
        failureCode: streamCode,
      })
    : (source as Required<ResumedBytes>).request();
  const opening = requested.then(readResponse);
  opening.catch(fail);
  signal.addEventListener("abort", () => {
    // before the headers arrive, the request reports its own end, because it may already be rejected
    if (opened || source.id) fail(signal.reason);
  });

  return { opening, getParser: () => parser, readNext, readToEnd, getStreamId };

  /** Reads a response. Only for a stored response may the code still have to be loaded. */
  async function readResponse(response: Response): Promise<void> {
    opened = response;
    const limits = { ...exchange, abort: expire };
    const bytes = readBody(client, limits, source.read(response), { use, lose, resetsSilence });
    try {
      const code = await streamCode.load();
      const warn = (issue: Issue) => client.warn(issue, exchange.callId);
      reader = code.createResponseReader(addDelta, code.createCallReader, warn, request, head);
      parser = code.createStreamParser(reader, client.scrub, noteContent);
    } finally {
      body = bytes;
    }
  }

  /**
   * Returns the next delta, at once if it is already read. Rejects with the error that ended the response: a stop at once,
   * another error after the deltas before it.
   *
   * @param isFresh true directly after a read, which already counts as activity of the consumer
   */
  function readNext(isFresh = false): Promise<Step> | Step {
    const { failure } = settlement;
    const isStopped = failure && !isGatewayError(failure.error);
    const value = isStopped ? undefined : deltas.take();
    if (value) {
      if (value.type === "finish") succeed();
      if (!isFresh) body?.touch();
      return { done: false, value };
    }
    if (failure) return Promise.reject(failure.error);
    if (parser?.isWhole) return noMore;
    if (reading || !body || parser?.end) return readMore().then(() => readNext(true));
    returnsStep = true;
    return readMore() as Promise<Step>;
  }

  /** Reads until the response has ended. `keeps`: the deltas stay in memory for a loop. */
  async function readToEnd(keeps: boolean): Promise<void> {
    while (!ended.aborted) {
      deltas.fold();
      if (!keeps) deltas.drop();
      if (parser?.isWhole) succeed();
      else await readMore().catch(fail);
    }
  }

  function getStreamId(): string | undefined {
    const type = parser?.end?.type;
    // a response with an error has ended at the proxy too
    return type && type !== "done" && type !== "cut" ? undefined : source.id;
  }

  /** Reads the next bytes, once for all consumers. Ends the response if there are none. */
  function readMore(): Promise<Step | undefined> {
    if (parser?.end) return Promise.resolve(fail(parser.end.toError?.(getState())));
    if (isFinished() && body && !isInGrace) {
      isInGrace = true;
      callAfter(client.clock, FINISH_GRACE_MS, ended, () => body?.cancel());
    }
    // an error of the request ends the response
    reading ??= body?.read() ?? opening.catch(() => {}).then(endRead);
    return reading;
  }

  function use(bytes: Uint8Array | undefined): Promise<Step> | Step | undefined {
    parser?.push(bytes);
    return endRead();
  }

  function lose(cause: unknown): Promise<Step> | Step | undefined {
    if (!signal.aborted && !isGatewayError(cause) && isFinished()) parser?.cut();
    else fail(cause);
    return endRead();
  }

  /** Ends the pending read. Returns the loop's next step, if the loop began the read. */
  function endRead(): Promise<Step> | Step | undefined {
    reading = undefined;
    if (!returnsStep) return undefined;
    returnsStep = false;
    return readNext(true);
  }

  function resetsSilence(): boolean {
    const wasAlive = isAlive;
    isAlive = false;
    return wasAlive;
  }

  function noteContent(): void {
    isAlive = hasContent = true;
  }

  function addDelta(delta: ChatDelta): void {
    if (delta.type !== "usage" && delta.type !== "finish") settlement.begin();
    deltas.push(delta);
  }

  /** Ends the response with its `finish` delta, so that a consumer need not read again. */
  function succeed(): void {
    if (ended.aborted) return;
    settle();
    if (parser?.end?.type === "done") body?.release();
  }

  function fail(cause: unknown): undefined {
    if (ended.aborted) return;
    deltas.fold();
    settle({ error: toStreamError(cause) });
    body?.cancel();
    // the proxy continues a stored response until it is stopped there
    if (signal.aborted && !continuesAtProxy) source.stop();
  }

  function settle(failure?: { readonly error: unknown }): void {
    settlement.settle((timing) => reader?.toResult(deltas.message, timing), failure);
  }

  function toStreamError(cause: unknown): unknown {
    const isOwn = isGatewayError(cause);
    if (cause === source.refusal || (opened && !isOwn && !signal.aborted))
      return createCutError(getState(), cause);
    // the error of a limit has the message so far
    return (opened || source.id) && isOwn && cause.name === "TimeoutError"
      ? new TimeoutError(cause.message, cause.phase, getState())
      : cause;
  }

  function getState(): StreamMetadata {
    return { partial: deltas.message, requestId: opened && readRequestId(opened) };
  }

  /** Limits the time from sending to the first content. The limit also runs while the app does not read the stream. */
  function limitSilence(): void {
    limitFirstChunk(client, exchange, ended, (error) => {
      if (!hasContent) expire(error);
    });
  }

  /** Handles an exceeded limit. The connection may have broken unnoticed, so a stored response is requested again. */
  function expire(reason: unknown): void {
    if (body && isFinished()) body.cancel();
    else if (!source.drop(reason)) abort(reason);
    else if (!hasContent) limitSilence();
  }
}

/** The deltas that a loop has not taken yet, and the message. Each delta is added to the message once, in order. */
function createDeltaQueue() {
  const fold = createFold();
  const queue: ChatDelta[] = [];
  /** Number of deltas that the loop has taken. */
  let taken = 0;
  /** Number of deltas in the message. */
  let folded = 0;
  return {
    get message() {
      return fold.message;
    },
    push(delta: ChatDelta): void {
      if (taken === queue.length && folded === taken) queue.length = taken = folded = 0;
      queue.push(delta);
    },
    /** Takes the next delta, which is then part of the message. */
    take(): ChatDelta | undefined {
      if (taken === queue.length) return undefined;
      if (taken === folded) foldNext();
      return queue[taken++];
    },
    /** Adds all deltas to the message. The loop can still take them. */
    fold(): void {
      while (folded < queue.length) foldNext();
    },
    /** Drops the deltas of the message that the loop has not taken. */
    drop(): void {
      taken = folded;
    },
  };

  function foldNext(): void {
    fold.add(queue[folded++] as ChatDelta);
  }
}

/** Creates the settlement of a response: it ends once, closes the exchange and measures the times. */
function createSettlement(client: Client, exchange: Exchange) {
  /** Aborts at the end, to stop the timers. */
  const ended = new AbortController();
  let firstTokenMs: number | undefined;
  let totalMs: number | undefined;
  let resolve!: (result: ChatResult) => void;
  let reject!: (error: unknown) => void;
  const result = new Promise<ChatResult>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  // a loop also throws the error, so the promise may stay unhandled
  result.catch(() => {});
  const settlement = {
    result,
    ended: ended.signal,
    failure: undefined as { readonly error: unknown } | undefined,
    /** Records the time of the first token. */
    begin() {
      if (firstTokenMs !== undefined) return;
      firstTokenMs = getElapsedMs();
      emitStep(client, exchange, { type: "first-chunk", durationMs: firstTokenMs });
    },
    createTiming,
    /** Ends the response, with an error or with its result. */
    settle(
      createResult: (timing: ChatTiming) => ChatResult | undefined,
      failure?: { readonly error: unknown },
    ) {
      totalMs = getElapsedMs();
      ended.abort(null);
      settlement.failure = failure;
      const whole = createResult(createTiming());
      closeExchange(client, exchange, whole ?? {}, failure);
      if (failure) reject(failure.error);
      else resolve(whole as ChatResult);
    },
  };
  return settlement;

  function createTiming(): ChatTiming {
    return { ...(firstTokenMs !== undefined && { firstTokenMs }), totalMs: totalMs ?? getElapsedMs() };
  }

  function getElapsedMs(): number {
    return client.clock.now() - exchange.startedAt;
  }
}

/** The bytes of a client that resumes no response. */
export const oneConnection: OpenResumption = {
  open({ client, headers }) {
    let id: string | undefined;
    return {
      get id() {
        return id;
      },
      refusal: undefined,
      read(response) {
        noteStored(response, client);
        id = response.headers.get("x-stream-id") ?? undefined;
        return createBodyReader(response);
      },
      drop: () => false,
      stop: () => stopStored(client, id, headers),
    };
  },
};

/** Creates the reason of a stop by the app. */
function createAbortError(message: string): DOMException {
  return new DOMException(message, "AbortError");
}

/** Creates a stream of the response's text. Cancelling it aborts the request. */
function createTextStream(deltas: ChatStream): ChatStream["textStream"] {
  /** Opened at the first read: an unread text stream leaves the deltas to a loop. */
  let iterator: AsyncIterator<ChatDelta, undefined> | undefined;
  const stream = new ReadableStream<string>(
    {
      async pull(controller) {
        iterator ??= deltas[Symbol.asyncIterator]();
        for (;;) {
          const { done, value } = await iterator.next();
          if (done) return controller.close();
          if (value.type === "text-delta") return controller.enqueue(value.text);
        }
      },
      async cancel() {
        if (iterator) await iterator.return?.();
        else deltas.abort(createAbortError("The text stream was cancelled"));
      },
    },
    { highWaterMark: 0 },
  );
  // Safari's streams are not iterable
  if (!(Symbol.asyncIterator in stream))
    Object.assign(stream, { [Symbol.asyncIterator]: () => createIterator(stream) });
  return stream as ChatStream["textStream"];
}

function createIterator(stream: ReadableStream<string>) {
  const reader = stream.getReader();
  return {
    next: () => reader.read(),
    return: () => reader.cancel().then(() => ({ done: true, value: undefined })),
  };
}

/**
 * Asks the proxy to end a stored response, which would otherwise continue. A failure changes nothing, because for the
 * page the response has ended.
 */
export function stopStored(client: Client, id: string | undefined, headers: HeadersInput | undefined): void {
  const path = createStreamPath(id);
  if (path === undefined) return;
  const { signal, end } = openSpan(client.clock, undefined, STOP_MS, () => undefined);
  // `keepalive`: the request survives the end of the page
  const init = { method: "DELETE", keepalive: true, signal, ...(headers && { headers }) };
  createRequest(client, path, init)
    .then(client.fetch)
    .then(({ body }) => body?.cancel())
    .catch(() => {})
    .finally(end);
}

/** Creates the path of a stored response; undefined for an id that could lead to another path. */
export function createStreamPath(id: unknown): string | undefined {
  return typeof id === "string" && /^[\w-]{1,128}$/.test(id) ? `/v1/chat/streams/${id}` : undefined;
}
