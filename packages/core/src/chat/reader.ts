import { callAfter, callAtLimit } from "../base/clock.js";
import { noteStored } from "../base/note-options.js";
import type { Client } from "../client.js";
import { readRequestId } from "../transport/failure.js";
import { type ByteReader, createBodyReader, readBody } from "../transport/read-body.js";
import {
  closeExchange,
  type Exchange,
  emitStep,
  openExchange,
  type RequestOptions,
  send,
} from "../transport/send.js";
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
import type { OpenResumption, ResumedBytes } from "./resume.js";

/** Origin of an answer: a request, or the proxy that stores it. */
export interface ResponseSource {
  readonly request?: ChatRequest | undefined;
  /** Id of a stored answer, which is read from its start where there is no `request`. The client has a `resume` then. */
  readonly streamId?: string | undefined;
  /** Path of a stored answer. */
  readonly path?: string | undefined;
  /** True if the answer continues at the proxy when this reader stops. */
  readonly isFollowed?: boolean;
}

/** A delta, or the end of the deltas. */
export type Step = IteratorResult<ChatDelta, undefined>;
export const over: Step = { done: true, value: undefined };

/** Reads one answer from its request to its last delta. */
interface Reader {
  /** Resolves when the response has come; rejects if it failed. */
  readonly opening: Promise<void>;
  readonly head: ResponseReader["head"];
  /** The message so far. */
  readonly message: AssistantMessage;
  /** Id of the answer at a proxy that stores it. */
  readonly streamId: string | undefined;
  /** The whole answer; rejects with the error that ended it. */
  readonly turn: Promise<ChatResult>;
  /** True once `[DONE]` has come. */
  readonly isDone: boolean;
  /** True once the bytes have ended as those of a whole answer do. */
  readonly isWhole: boolean;
  timing(): ChatTiming;
  /**
   * Returns the next delta, at once if it was read already. Rejects with the error that ended the answer: a stop ends it
   * at once, any other error after the deltas that were read.
   */
  next(): Promise<Step> | Step;
  /** Reads until the answer is settled. `keeps`: the deltas stay in memory for a loop. */
  readToEnd(keeps: boolean): Promise<void>;
  abort(reason: unknown): void;
}

/** Wait for `[DONE]` or usage after a `finish_reason`. Without them the answer is complete, too. */
const FINISH_GRACE_MS = 2000;
const TOO_LONG = "the answer is too long to be read";

/** Opens an answer: sends its request, or reads a stored one. */
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
  /** The read that is waiting. */
  let reading: Promise<void> | undefined;
  let isInGrace = false;
  /** Continues a stored answer over lost connections. */
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
    const bytes = stored?.read(response) ?? createBodyReader(response, warn);
    body = readBody(client, { ...exchange, abort: handleTimeout }, bytes, {
      use,
      lose,
      resetsSilence: deltas.grew,
    });
  });
  opening.catch(fail);
  signal.addEventListener("abort", () => {
    // before the headers, the request itself reports its end: it may have been refused by then
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
      // an answer with an error is over at the proxy, too
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

  /** @param isFresh true directly after a read, which counts as taken itself */
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

  /** Reads the next bytes, once for all who wait. Settles the answer where there are none. */
  function readMore(): Promise<void> {
    if (parser.end) fail(parser.end.toError?.(getMetadata()));
    if (settlement.isOver) return Promise.resolve();
    if (answer.finished && body && !isInGrace) {
      isInGrace = true;
      callAfter(client.clock, FINISH_GRACE_MS, settlement.signal, () => body?.cancel());
    }
    // an error of the request settles the answer
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

  /** Settles the answer with its `finish` delta: a reader that has it need not read again. */
  function succeed(): void {
    settlement.succeed((timing) => answer.createResult(deltas.message, timing));
    if (parser.end?.type === "done") body?.release();
  }

  /** The text is longer than the platform allows: `partial` has its beginning. */
  function failTooLong(cause: unknown): void {
    fail(createStreamError("malformed", TOO_LONG, getMetadata(), {}, cause));
  }

  function fail(cause: unknown): void {
    if (settlement.isOver) return;
    try {
      deltas.fold();
    } catch {
      // the text is too long: the message has its beginning
    }
    settlement.fail(toStreamError(cause), (timing) => answer.createResult(deltas.message, timing));
    body?.cancel();
    // a stored response continues at the proxy until it is stopped there
    if (signal.aborted && !isFollowed) {
      if (stored) stored.stop();
      else stopAtProxy(client, opened, options.headers);
    }
  }

  function toStreamError(cause: unknown): unknown {
    if (cause !== undefined && cause === stored?.refusal) return createCutError(getMetadata(), cause);
    if (!signal.aborted && !isGatewayError(cause))
      return opened ? createCutError(getMetadata(), cause) : cause;
    return opened || stored?.id ? addPartial(cause, getMetadata()) : cause;
  }

  function getMetadata(): StreamMetadata {
    return { partial: deltas.message, requestId: opened && readRequestId(opened) };
  }

  /** Limits the time from sending to the first content. It also counts while the stream is not read. */
  function limitFirstChunk(): void {
    const text = `nothing came for ${firstChunkMs} ms (timeout.firstChunkMs)`;
    callAtLimit(client.clock, firstChunkMs, settlement.signal, () => {
      if (!deltas.hasContent) handleTimeout(new TimeoutError(text, "first-chunk"));
    });
  }

  /** Reacts to a limit. The connection may have broken unnoticed: a stored answer is requested again. */
  function handleTimeout(reason: unknown): void {
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
  const id = response?.headers.get("x-stream-id");
  if (id)
    import("./stop-stored-later.js").then(
      (module) => module.stopStored(client, id, headers),
      () => {},
    );
}

/** The deltas of one answer, which do not know the network or the time. */
function createDeltas(onBegin: () => void, warn: Client["warn"], scrub: Client["scrub"], several: boolean) {
  const queue: ChatDelta[] = [];
  /** Number of deltas that were given to the loop. */
  let taken = 0;
  /** Number of deltas that are in the message. */
  let folded = 0;
  const fold = createFold();
  const answer = createResponseReader(add, warn, several);
  /** True where content came since the last read. */
  let isAlive = false;
  const deltas = {
    answer,
    parser: createStreamParser(answer, scrub, () => {
      isAlive = deltas.hasContent = true;
    }),
    hasContent: false,
    get message() {
      return fold.message;
    },
    /**
     * Takes the next delta and adds it to the message; undefined where more bytes are needed.
     *
     * @throws {RangeError} when the message is longer than a text can be
     */
    take(): ChatDelta | undefined {
      if (taken === queue.length) return undefined;
      if (taken === folded) fold.add(queue[folded++] as ChatDelta);
      return queue[taken++];
    },
    /**
     * Adds all deltas to the message. They can still be taken.
     *
     * @throws {RangeError}
     */
    fold() {
      while (folded < queue.length) fold.add(queue[folded++] as ChatDelta);
    },
    /** Drops the deltas that are in the message: nobody takes them. */
    skip() {
      taken = folded;
    },
    /** Releases the deltas that were taken. */
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

  function add(delta: ChatDelta): void {
    if (delta.type !== "usage" && delta.type !== "finish") onBegin();
    queue.push(delta);
  }
}

/** Creates the end of an answer, which comes once and closes the exchange, and its times. */
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
  // a loop throws the error, too: the result may stay unused
  turn.catch(() => {});
  const settlement = {
    turn,
    /** Aborts at the end, which stops the timers. */
    signal: ended.signal,
    failure: undefined as { readonly error: unknown } | undefined,
    get isOver() {
      return totalMs !== undefined;
    },
    /** Notes the time of the first token. */
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
