import { callAfter, callAtLimit } from "../base/clock.js";
import { noteStored } from "../base/note-options.js";
import type { Client } from "../client.js";
import type { ErrorFields } from "../transport/error-response.js";
import { readRequestId } from "../transport/failure.js";
import { type ByteReader, createBodyReader, readBody } from "../transport/read-body.js";
import {
  closeExchange,
  createPlainError,
  type Exchange,
  emitStep,
  loadRepeats,
  openExchange,
  type RequestOptions,
  send,
} from "../transport/send.js";
import { sendDelete } from "../transport/send-delete.js";
import { isGatewayError, TimeoutError } from "../vocabulary/errors.js";
import { createFold } from "./protocol/accumulate.js";
import type { AssistantMessage, ChatDelta, ChatResult, ChatTiming } from "./protocol/delta.js";
import { CHAT_PATH, createStreamedRequest } from "./protocol/request.js";
import { createResponseReader, type ResponseReader } from "./protocol/response-reader.js";
import type { ChatRequest } from "./protocol/schema.js";
import {
  addPartial,
  createCutError,
  createStreamError,
  type StreamMetadata,
} from "./protocol/stream-error.js";
import { createStreamParser } from "./protocol/stream-parser.js";
import { createStreamPath } from "./protocol/stream-path.js";
import type { OpenResumption, ResumedBytes } from "./resume.js";

/** Origin of a response: a request, or the proxy that stores it. */
export interface ResponseSource {
  readonly request?: ChatRequest | undefined;
  /** Id of a stored response, read from its start if there is no `request`. Requires a client with `resume`. */
  readonly streamId?: string | undefined;
  /** Path of a stored response. */
  readonly path?: string | undefined;
  /** True if the proxy continues the response after this reader stops. */
  readonly isFollowed?: boolean;
}

/** A delta, or the end of the deltas. */
export type Step = IteratorResult<ChatDelta, undefined>;
export const over: Step = { done: true, value: undefined };

/** Reads one response from its request to its last delta. */
interface Reader {
  /** Resolves with the response headers; rejects if the request failed. */
  readonly opening: Promise<void>;
  readonly head: ResponseReader["head"];
  /** The message so far. */
  readonly message: AssistantMessage;
  /** Id of the stored response. */
  readonly streamId: string | undefined;
  /** The whole response. Rejects with the error that ended it. */
  readonly turn: Promise<ChatResult>;
  /** True once `[DONE]` has arrived. */
  readonly isDone: boolean;
  /** True once the bytes of a whole response have ended. */
  readonly isWhole: boolean;
  timing(): ChatTiming;
  /**
   * Returns the next delta, at once if it is already read. Rejects with the error that ended the response. A stop
   * rejects at once, other errors only after the deltas before them.
   */
  next(): Promise<Step> | Step;
  /** Reads until the response has ended. `keeps`: the deltas stay in memory for a loop. */
  readToEnd(keeps: boolean): Promise<void>;
  abort(reason: unknown): void;
}

/** Time to wait for `[DONE]` or usage after a `finish_reason`. The response is complete without them. */
const FINISH_GRACE_MS = 2000;
const TOO_LONG = "the response is too long to be read";

/** Opens a response: sends its request, or reads a stored one. */
export function openReader(
  client: Client,
  options: RequestOptions,
  { request, streamId, path = CHAT_PATH, isFollowed }: ResponseSource,
): Reader {
  const exchange = openExchange(client, { kind: "chat", path, subject: request, isStream: true }, options);
  const { signal, callId, firstChunkMs } = exchange;
  const warn: Client["warn"] = (issue) => client.warn(issue, callId);
  const settlement = createSettlement(client, exchange);
  const several = ((request as { n?: number } | undefined)?.n ?? 1) > 1;
  const deltas = createDeltas(settlement.begin, warn, client.scrub, several);
  const { answer, parser } = deltas;
  let opened: Response | undefined;
  let body: ByteReader<void> | undefined;
  /** The pending read. */
  let reading: Promise<void> | undefined;
  let isInGrace = false;
  /** Resumes a stored response after lost connections. */
  const stored = (client.resume as OpenResumption | undefined)?.open({
    client,
    exchange,
    headers: options.headers,
    id: request ? undefined : streamId,
    isFinished: () => answer.finished,
    onConnect: () => body?.restart(),
  });

  limitFirstChunk();
  const opening = requestResponse().then((response) => {
    opened = response;
    if (!stored) noteStored(response, client);
    const bytes = stored?.read(response) ?? createBodyReader(response);
    body = readBody(client, { ...exchange, abort: expire }, bytes, { use, lose, resetsSilence: deltas.grew });
  });
  opening.catch(fail);
  signal.addEventListener("abort", () => {
    // before the headers arrive, the request reports its own end, because it may already be rejected
    if (opened || stored?.id) fail(signal.reason);
  });

  return {
    opening,
    head: answer.head,
    get message() {
      return deltas.message;
    },
    get streamId() {
      const { end } = parser;
      // a response with an error has ended at the proxy too
      if (end && end.type !== "done" && end.type !== "cut") return undefined;
      return stored ? stored.id : (opened?.headers.get("x-stream-id") ?? undefined);
    },
    turn: settlement.turn,
    get isDone() {
      return parser.end?.type === "done";
    },
    get isWhole() {
      return parser.isWhole;
    },
    timing: settlement.timing,
    next: () => readNext(false),
    readToEnd,
    abort: exchange.abort,
  };

  function requestResponse(): Promise<Response> {
    const body = () => createStreamedRequest(client, request as object, options);
    if (request)
      return send(client, exchange, { method: "post", body, headers: options.headers, repeat: "any" });
    return (stored as ResumedBytes).request();
  }

  /** @param isFresh true directly after a read, which already counts as activity of the consumer */
  function readNext(isFresh: boolean): Promise<Step> | Step {
    const { failure } = settlement;
    if (failure && !isGatewayError(failure.error)) return Promise.reject(failure.error);
    try {
      const value = deltas.take();
      if (value?.type === "finish") succeed();
      if (value) {
        if (!isFresh) body?.touch();
        return { done: false, value };
      }
    } catch (cause) {
      failTooLong(cause);
    }
    if (settlement.failure) return Promise.reject(settlement.failure.error);
    return parser.isWhole ? over : readMore().then(readFresh);
  }

  function readFresh(): Promise<Step> | Step {
    return readNext(true);
  }

  async function readToEnd(keeps: boolean): Promise<void> {
    while (!settlement.isOver) {
      try {
        deltas.fold();
      } catch (cause) {
        failTooLong(cause);
      }
      if (!keeps) deltas.skip();
      if (parser.isWhole) succeed();
      else await readMore().catch(fail);
    }
  }

  /** Reads the next bytes, once for all consumers. Ends the response if there are none. */
  function readMore(): Promise<void> {
    const error = parser.end?.toError?.(readState());
    if (error instanceof Promise) return error.then(fail);
    if (parser.end) fail(error);
    if (settlement.isOver) return Promise.resolve();
    if (answer.finished && body && !isInGrace) {
      isInGrace = true;
      callAfter(client.clock, FINISH_GRACE_MS, settlement.signal, () => body?.cancel());
    }
    // an error of the request ends the response
    reading ??= body?.read() ?? opening.then(stopWaiting, stopWaiting);
    return reading;
  }

  function stopWaiting(): void {
    reading = undefined;
  }

  function use(bytes: Uint8Array | undefined): void {
    reading = undefined;
    deltas.clear();
    parser.push(bytes);
  }

  function lose(cause: unknown): void {
    reading = undefined;
    if (!signal.aborted && !isGatewayError(cause) && answer.finished) parser.cut();
    else fail(cause);
  }

  /** Ends the response with its `finish` delta, so that a consumer need not read again. */
  function succeed(): void {
    settlement.succeed((timing) => answer.toResult(deltas.message, timing));
    if (parser.end?.type === "done") body?.release();
  }

  /** Fails a text that is longer than the platform allows. `partial` has its beginning. */
  function failTooLong(cause: unknown): void {
    fail(createStreamError("malformed", TOO_LONG, readState(), {}, cause));
  }

  function fail(cause: unknown): void {
    if (settlement.isOver) return;
    try {
      deltas.fold();
    } catch {
      // the text is too long; the message keeps its beginning
    }
    settlement.fail(toStreamError(cause), (timing) => answer.toResult(deltas.message, timing));
    body?.cancel();
    // the proxy continues a stored response until it is stopped there
    if (signal.aborted && !isFollowed) {
      if (stored) stored.stop();
      else stopAtProxy(client, opened, options.headers);
    }
  }

  function toStreamError(cause: unknown): unknown {
    if (cause !== undefined && cause === stored?.refusal) return createCutError(readState(), cause);
    if (!signal.aborted && !isGatewayError(cause)) return opened ? createCutError(readState(), cause) : cause;
    return opened || stored?.id ? addPartial(cause, readState()) : cause;
  }

  function readState(): StreamMetadata {
    return { partial: deltas.message, requestId: opened && readRequestId(opened) };
  }

  /** Limits the time from sending to the first content. The limit also runs while the app does not read the stream. */
  function limitFirstChunk(): void {
    const text = `nothing came for ${firstChunkMs} ms (timeout.firstChunkMs)`;
    callAtLimit(client.clock, firstChunkMs, settlement.signal, () => {
      if (!deltas.hasContent) expire(new TimeoutError(text, "first-chunk"));
    });
  }

  /** Handles an exceeded limit. The connection may have broken unnoticed, so a stored response is requested again. */
  function expire(reason: unknown): void {
    if (body && answer.finished) body.cancel();
    else if (!stored?.drop(reason)) exchange.abort(reason);
    else if (!deltas.hasContent) limitFirstChunk();
  }
}

function stopAtProxy(
  client: Client,
  response: Response | undefined,
  headers: RequestOptions["headers"],
): void {
  const path = createStreamPath(response?.headers.get("x-stream-id"));
  if (path) void sendDelete(client, path, headers);
}

/** Describes a body without a response by code that is loaded for errors only. */
async function createRefusal(
  body: string,
  context: { readonly requestId: string | undefined; readonly fields: ErrorFields | undefined },
): Promise<Error> {
  const loaded = await loadRepeats();
  return (
    loaded?.createRefusal(body, context) ?? createPlainError(200, body, context.requestId, context.fields)
  );
}

/** Creates the deltas of one response, independent of the network and the clock. */
function createDeltas(onBegin: () => void, warn: Client["warn"], scrub: Client["scrub"], several: boolean) {
  const queue: ChatDelta[] = [];
  /** Number of deltas that the loop has taken. */
  let taken = 0;
  /** Number of deltas in the message. */
  let folded = 0;
  const fold = createFold();
  const answer = createResponseReader(add, warn, several);
  /** True if content arrived after the last read. */
  let isAlive = false;
  const deltas = {
    answer,
    parser: createStreamParser(answer, scrub, noteContent, createRefusal),
    hasContent: false,
    get message() {
      return fold.message;
    },
    /**
     * Takes the next delta and adds it to the message; undefined if more bytes are needed.
     *
     * @throws {RangeError} when the message exceeds the maximum length of a string
     */
    take(): ChatDelta | undefined {
      if (taken === queue.length) return undefined;
      if (taken === folded) fold.add(queue[folded++] as ChatDelta);
      return queue[taken++];
    },
    /**
     * Adds all deltas to the message. The loop can still take them.
     *
     * @throws {RangeError}
     */
    fold() {
      while (folded < queue.length) fold.add(queue[folded++] as ChatDelta);
    },
    /** Drops the deltas in the message, which no loop will take. */
    skip() {
      taken = folded;
    },
    /** Releases the taken deltas. */
    clear() {
      if (taken === queue.length && folded === taken) queue.length = taken = folded = 0;
    },
    grew() {
      const wasAlive = isAlive;
      isAlive = false;
      return wasAlive;
    },
  };
  return deltas;

  function noteContent(): void {
    isAlive = deltas.hasContent = true;
  }

  function add(delta: ChatDelta): void {
    if (delta.type !== "usage" && delta.type !== "finish") onBegin();
    queue.push(delta);
  }
}

/** Creates the settlement of a response: it ends once, closes the exchange and measures times. */
function createSettlement(client: Client, exchange: Exchange) {
  const ended = new AbortController();
  let firstTokenMs: number | undefined;
  let totalMs: number | undefined;
  let resolve!: (turn: ChatResult) => void;
  let reject!: (error: unknown) => void;
  const turn = new Promise<ChatResult>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  // a loop also throws the error, so the promise may stay unhandled
  turn.catch(() => {});
  const settlement = {
    turn,
    /** Aborts at the end, to stop the timers. */
    signal: ended.signal,
    failure: undefined as { readonly error: unknown } | undefined,
    get isOver() {
      return totalMs !== undefined;
    },
    /** Records the time of the first token. */
    begin() {
      if (firstTokenMs !== undefined) return;
      firstTokenMs = getElapsedMs();
      emitStep(client, exchange, { type: "first-chunk", durationMs: firstTokenMs });
    },
    timing: (): ChatTiming => ({
      ...(firstTokenMs !== undefined && { firstTokenMs }),
      totalMs: totalMs ?? getElapsedMs(),
    }),
    succeed(createTurn: (timing: ChatTiming) => ChatResult) {
      if (settlement.isOver) return;
      const whole = createTurn(settle());
      closeExchange(client, exchange, whole);
      resolve(whole);
    },
    fail(error: unknown, createTurn: (timing: ChatTiming) => ChatResult) {
      settlement.failure = { error };
      closeExchange(client, exchange, createTurn(settle()), settlement.failure);
      reject(error);
    },
  };
  return settlement;

  function settle(): ChatTiming {
    totalMs = getElapsedMs();
    ended.abort(null);
    return settlement.timing();
  }

  function getElapsedMs(): number {
    return client.clock.now() - exchange.startedAt;
  }
}
