import { after } from "../base/clock.js";
import type { UncheckedRequest } from "../base/validate.js";
import { isGatewayError, StreamError, type StreamFailure, TimeoutError } from "../errors.js";
import { apiErrorOf, type ErrorFields } from "../transport/error-response.js";
import { requestIdOf } from "../transport/failure.js";
import { type ByteReader, readBody } from "../transport/read-body.js";
import {
  type Client,
  closeExchange,
  emitStep,
  openExchange,
  type RequestOptions,
  send,
} from "../transport/send.js";
import { createFold } from "./protocol/accumulate.js";
import { type ChatTiming, type ChatTurn, createAnswerReader } from "./protocol/answer-reader.js";
import { createChunkParser, type StreamEnd } from "./protocol/chunk-parser.js";
import type { ChatDelta, ChatMessage } from "./protocol/delta.js";
import type { WireObject } from "./protocol/field-reader.js";
import { CHAT_PATH, checkedChatRequest } from "./protocol/request.js";
import type { ChatRequest } from "./protocol/request-body.js";
import { textStreamOf } from "./text-stream.js";

/**
 * An answer under way. Iterate it for deltas, or only await `result()`; leaving the loop aborts the request.
 * It can be read once, by one reader, and nothing is read from the network faster than it is consumed.
 */
export interface ChatStream extends AsyncIterable<ChatDelta> {
  /** The message as far as it has been delivered; whole once the stream has ended. */
  readonly snapshot: ChatMessage;
  /** Milliseconds so far: what `ChatTurn.timing` will say. */
  readonly timing: ChatTiming;
  /** Id under which the proxy keeps the answer, once it is known; undefined where the proxy keeps none, or lost it. */
  readonly streamId: string | undefined;
  /** The whole answer; reads the stream itself unless somebody else does. */
  result(): Promise<ChatTurn>;
  /** Ends the request now. What is awaited rejects with `reason`, by default an `AbortError`. */
  abort(reason?: unknown): void;
  /** The text alone, as a stream of strings. */
  toTextStream(): ReadableStream<string>;
  /**
   * The answer as a stream of `chat.completion.chunk` events, which any OpenAI-style client reads: for a server of one's
   * own between the gateway and the app. Resolves once the gateway has answered. A refusal becomes a response with its
   * HTTP status and an OpenAI error body, and so do a failed connection (502), a timeout (504) and a broken rule (400);
   * an error after the start becomes an error in the stream.
   *
   * @param init status and headers of the response; the headers go with a refusal too
   * @throws an abort, a wrong configuration, and whatever `headers` or `apiKey` of the client threw
   * @example
   * ```ts
   * const handler = async (request: Request) => {
   *   const { messages } = await request.json();
   *   return streamChat(client, { model: "delta-5.3", messages }, { signal: request.signal }).toResponse();
   * };
   * ```
   */
  toResponse(init?: ResponseInit): Promise<Response>;
}

/** The wait for `[DONE]` or usage after a `finish_reason`; without them the answer is complete all the same. */
const FINISH_GRACE_MS = 2000;

/**
 * Asks a chat model and streams its answer (spec, POST /v1/chat/completions).
 *
 * The request is checked and sent at once; errors come out of the iteration and of `result()`. The stream is a
 * success only if a `finish_reason` or `[DONE]` arrived. A field of an unexpected type is left out and told as a `warning`, once.
 *
 * @param request the gateway's own fields; `stream` need not be given
 * @throws {ValidationError} when a rule of the model is broken; nothing was sent
 * @throws {APIError} when the gateway refuses
 * @throws {ConnectionError} when there was no answer
 * @throws {TimeoutError} phase `headers`, `first-chunk`, `chunk` or `total`; with `partial` once the stream had begun
 * @throws {StreamError} when the stream broke off or carried an error; `partial` has the message so far
 * @example
 * ```ts
 * const stream = streamChat(client, { model: "delta-5.3", messages: [{ role: "user", content: "Hello" }] });
 * for await (const delta of stream) if (delta.type === "text-delta") process.stdout.write(delta.text);
 * const { outcome, usage } = await stream.result();
 * ```
 */
export function streamChat(
  client: Client,
  request: ChatRequest | UncheckedRequest,
  options: RequestOptions = {},
): ChatStream {
  return openStream(client, options, request);
}

/** Streams an answer: of a request, or from its start the one that the proxy keeps under `streamId`. */
export function openStream(
  client: Client,
  options: RequestOptions,
  request: ChatRequest | UncheckedRequest | undefined,
  streamId?: string,
  newer = "streamChat(client, unchecked({ … }))",
): ChatStream {
  const exchange = openExchange(client, CHAT_PATH, options, undefined, request);
  const { clock } = client;
  const turn = deferred<ChatTurn>();
  const several = ((request as { n?: number } | undefined)?.n ?? 1) > 1;
  const answer = createAnswerReader(receive, (issue) => client.warn(issue, exchange.callId), several);
  const parser = createChunkParser({ onChunk: readChunk, hasBegun: () => answer.begun, onEnd: endWith });
  const queue: ChatDelta[] = [];
  const fold = createFold();
  /** Stops the timers of the stream. */
  const settled = new AbortController();
  let delivered = 0;
  let requestId: string | undefined;
  let firstTokenMs: number | undefined;
  let totalMs: number | undefined;
  let readBy: "a loop" | "result()" | undefined;
  let end: StreamEnd | undefined;
  let failure: { error: unknown } | undefined;
  let body: ByteReader<Step> | undefined;
  let eventId = "";
  /** Times that the answer was taken up again since the last content. */
  let resumed = 0;
  let hasContent = false;
  /** True where content came since the last read. */
  let isAlive = false;
  let isInGrace = false;
  let hasLeft = false;
  let silence: unknown;
  let keeper: Promise<typeof import("./resume.js")> | undefined;

  limitFirstChunk();
  let opening = open();
  opening.catch(settleWithError);
  exchange.signal.addEventListener("abort", () => {
    // before the headers, the request itself tells how it ended: a refusal may be known by then
    if (body || keeper) settleWithError(exchange.signal.reason);
  });

  const stream: ChatStream = {
    get snapshot() {
      return fold.message;
    },
    get timing() {
      return timing();
    },
    get streamId() {
      return streamId;
    },
    result() {
      // a loop that starts in the same tick comes first
      if (!readBy) queueMicrotask(() => readBy ?? drain());
      return turn.promise;
    },
    abort: (reason = abortError("The stream was aborted")) => exchange.abort(reason),
    toTextStream: () => textStreamOf(stream),
    async toResponse(init) {
      const deltas = stream[Symbol.asyncIterator]();
      const { relayed } = await import("./sse-response.js");
      await opening.catch(() => {});
      const isDone = () => end?.type === "done";
      return relayed({ deltas, turn: turn.promise, head: answer.head, isDone, failure, init });
    },
    [Symbol.asyncIterator]() {
      if (readBy) throw new TypeError(`this stream is already read by ${readBy}; a stream can be read once`);
      readBy = "a loop";
      return { next: () => Promise.resolve(next()), return: leave };
    },
  };
  return stream;

  async function open(): Promise<ByteReader<Step>> {
    if (streamId) load();
    const response = request
      ? await send(client, exchange, {
          method: "post",
          body: () => checkedChatRequest(client, request, true, newer),
          headers: options.headers,
          repeat: "any",
        })
      : await kept();
    streamId ??= response.headers.get("x-stream-id") ?? undefined;
    if (streamId) load();
    requestId = requestIdOf(response);
    if (response.body === undefined)
      client.warn({ path: "", message: NO_BODY, rule: "chat.stream.no-body" }, exchange.callId);
    return read(response);
  }

  function read(response: Response): ByteReader<Step> {
    silence = undefined;
    isAlive = hasContent;
    body = readBody(client, { ...exchange, abort: late }, response, {
      use: advance,
      lose,
      resetsSilence() {
        const wasAlive = isAlive;
        isAlive = false;
        return wasAlive;
      },
    });
    return body;
  }

  /** Counts from sending, whether the stream is read or not: one that nobody reads does not stay open. */
  function limitFirstChunk(): void {
    const { firstChunkMs } = exchange;
    const text = `nothing of the answer came in ${firstChunkMs} ms (timeouts.firstChunkMs)`;
    after(clock, firstChunkMs, settled.signal, () => {
      if (!hasContent) late(new TimeoutError(text, "first-chunk"));
    });
  }

  /** The gateway is silent, or the connection broke unnoticed: where the answer is kept, another one can tell. */
  function late(error: unknown): void {
    if (!body || (!keeper && !answer.finished)) return exchange.abort(error);
    silence = error;
    body.cancel();
  }

  /** Where answers are not kept, which is most places, none of it is loaded; and not only when the network is gone. */
  function load(): void {
    keeper ??= import("./resume.js");
    keeper.catch(() => {});
  }

  /** What is kept of the answer from the last chunk on, and what follows. */
  async function kept(cause?: unknown): Promise<Response> {
    const { headers } = options;
    const place = { client, exchange, send, headers, streamId, eventId, resumed, cause };
    const { resumeStream } = await (keeper as NonNullable<typeof keeper>);
    return resumeStream(place);
  }

  function next(): Promise<Step> | Step {
    if (hasLeft) return over;
    if (failure) return Promise.reject(failure.error);
    if (delivered < queue.length) return deliver();
    if (end) return finish();
    if (!body) return opening.then((opened) => opened.read(), lose);
    if (answer.finished && !isInGrace) {
      isInGrace = true;
      after(clock, FINISH_GRACE_MS, settled.signal, () => body?.cancel());
    }
    return body.read();
  }

  function advance(bytes: Uint8Array | undefined): Promise<Step> | Step {
    if (delivered === queue.length) {
      queue.length = 0;
      delivered = 0;
    }
    parser.push(bytes);
    return next();
  }

  function readChunk(chunk: WireObject, id: string): void {
    eventId = id;
    if (!answer.read(chunk)) return;
    isAlive = hasContent = true;
    resumed = 0;
  }

  function receive(delta: ChatDelta): void {
    if (firstTokenMs === undefined && delta.type !== "usage" && delta.type !== "finish") {
      firstTokenMs = clock.now() - exchange.startedAt;
      emitStep(client, exchange, { type: "first-chunk", ms: firstTokenMs });
    }
    queue.push(delta);
  }

  function deliver(): Promise<Step> | Step {
    const value = queue[delivered++] as ChatDelta;
    try {
      fold.add(value);
    } catch (cause) {
      // a text beyond what the platform can hold: `partial` has what came before
      return fail(errorOfEnd({ type: "malformed", problem: "the answer is too long to be read", cause }));
    }
    return { done: false, value };
  }

  function endWith(how: StreamEnd): void {
    end = how;
    if (succeeded(how)) answer.finish();
  }

  function succeeded({ type }: StreamEnd): boolean {
    return type === "done" || (type === "cut" && answer.finished);
  }

  function finish(): Promise<Step> | Step {
    if (totalMs !== undefined) return over;
    if (!succeeded(end as StreamEnd)) return lose(errorOfEnd(end as StreamEnd));
    const whole = answer.turn(fold.message, timing());
    settle();
    closeExchange(client, exchange, whole);
    if (end?.type === "done") body?.release();
    turn.resolve(whole);
    return over;
  }

  /** The connection failed, the caller aborted, or the stream said so: nothing that came is lost. */
  function lose(cause: unknown): Promise<Step> | Step {
    if (!exchange.signal.aborted && !isGatewayError(cause) && answer.finished) {
      end = { type: "cut" };
      answer.finish();
      return next();
    }
    if (keeper && !failure) return resume(cause);
    return fail(cause);
  }

  function fail(cause: unknown): Promise<Step> {
    settleWithError(cause);
    return Promise.reject(failure ? failure.error : cause);
  }

  function resume(cause: unknown): Promise<Step> | Step {
    const broken = body;
    // the connection may be open still
    broken?.cancel();
    body = end = undefined;
    parser.restart();
    opening = kept(isGatewayError(cause) ? cause : undefined).then(read, () => {
      keeper = streamId = undefined;
      body = broken;
      throw silence ?? cause;
    });
    resumed += 1;
    if (silence && !hasContent) limitFirstChunk();
    return next();
  }

  function settleWithError(cause: unknown): void {
    if (failure || totalMs !== undefined) return;
    try {
      for (; delivered < queue.length; delivered += 1) fold.add(queue[delivered] as ChatDelta);
    } catch {
      // too long: `partial` has the text so far
    }
    const isKnown = exchange.signal.aborted || isGatewayError(cause);
    // what fails before the first byte was not cut: it is told as it is
    const error = isKnown ? withPartial(cause) : body ? cutError(cause) : cause;
    failure = { error };
    settle();
    closeExchange(client, exchange, {}, failure);
    body?.cancel();
    // an answer that is kept goes on until it is stopped there
    if (exchange.signal.aborted) {
      const place = { client, headers: options.headers, streamId };
      keeper?.then(({ stopStream }) => stopStream(place)).catch(() => {});
    }
    turn.reject(error);
  }

  function settle(): void {
    totalMs = clock.now() - exchange.startedAt;
    settled.abort();
  }

  function withPartial(cause: unknown): unknown {
    if (!isGatewayError(cause) || cause.name !== "TimeoutError" || !(body || keeper)) return cause;
    return new TimeoutError(cause.message, cause.phase, { partial: fold.message, requestId });
  }

  function errorOfEnd(how: StreamEnd): unknown {
    switch (how.type) {
      case "refusal":
        return apiErrorOf({ status: 200 }, client.scrub(how.body), { requestId });
      case "error":
        return serverError(how.fields);
      case "malformed":
        return streamError("malformed", client.scrub(how.problem), {}, how.cause);
      default:
        return cutError();
    }
  }

  function serverError({ message: said = "the gateway reported an error", type, code }: ErrorFields) {
    const reason = code === CUT_BEFORE_US || code === LOST_BEFORE_US ? "truncated" : "server-error";
    return streamError(reason, client.scrub(said), { type, apiCode: code });
  }

  function cutError(cause?: unknown) {
    const text = "the stream broke off before its end; `partial` has the message so far";
    return streamError("truncated", text, {}, cause);
  }

  function streamError(
    reason: StreamFailure,
    text: string,
    fields: { type?: string | undefined; apiCode?: string | undefined } = {},
    cause?: unknown,
  ): StreamError<ChatMessage> {
    return new StreamError(text, { reason, partial: fold.message, ...fields }, { cause, requestId });
  }

  function timing(): ChatTiming {
    return {
      ...(firstTokenMs !== undefined && { firstTokenMs }),
      totalMs: totalMs ?? clock.now() - exchange.startedAt,
    };
  }

  async function drain(): Promise<void> {
    readBy = "result()";
    try {
      while (!(await next()).done);
    } catch (cause) {
      // rejects `turn`, unless that is done
      settleWithError(cause);
    }
  }

  async function leave(): Promise<Step> {
    if (end && succeeded(end)) while (!(await next()).done);
    else exchange.abort(abortError("The loop over the stream was left before its end"));
    hasLeft = true;
    return over;
  }
}

const NO_BODY =
  "this fetch gives no stream, so that nothing shows before the end; give createClient one that does: expo/fetch";

/** How @sluice/worker-proxy says, inside the stream, that the gateway's connection broke: over HTTP a cut looks like an end. */
const CUT_BEFORE_US = "upstream_cut";
/** And that the rest of a kept answer is lost. */
const LOST_BEFORE_US = "stream_interrupted";

type Step = IteratorResult<ChatDelta, undefined>;
const over: Step = { done: true, value: undefined };

function abortError(message: string): DOMException {
  return new DOMException(message, "AbortError");
}

function deferred<T>() {
  let resolve!: (value: T) => void;
  let reject!: (reason: unknown) => void;
  const promise = new Promise<T>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  // whoever iterates gets the error from the loop; nobody has to ask for the result as well
  promise.catch(() => {});
  return { promise, resolve, reject };
}
