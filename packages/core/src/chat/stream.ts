import type { UncheckedRequest } from "../base/validate.js";
import type { Client, RequestOptions } from "../transport/send.js";
import type { ChatTiming, ChatTurn } from "./protocol/answer-reader.js";
import type { ChatDelta, ChatMessage } from "./protocol/delta.js";
import type { ChatRequest } from "./protocol/request-body.js";
import { openResumableExchange, over, type Step } from "./resumable-exchange.js";
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
  const exchange = openResumableExchange(client, options, request, streamId, newer);
  const { answer, kept, settlement } = exchange;
  let readBy: "a loop" | "result()" | undefined;
  let hasLeft = false;

  const stream: ChatStream = {
    get snapshot() {
      return answer.message;
    },
    get timing() {
      return settlement.timing();
    },
    get streamId() {
      return kept.id;
    },
    result() {
      // a loop that starts in the same tick comes first
      if (!readBy) queueMicrotask(() => readBy ?? drain());
      return settlement.turn;
    },
    abort: (reason = abortError("The stream was aborted")) => exchange.abort(reason),
    toTextStream: () => textStreamOf(stream),
    async toResponse(init) {
      const deltas = stream[Symbol.asyncIterator]();
      const { relayed } = await import("./sse-response.js");
      await exchange.opening.catch(() => {});
      const { turn, failure } = settlement;
      const isDone = () => answer.end?.type === "done";
      return relayed({ deltas, turn, head: answer.head, isDone, failure, init });
    },
    [Symbol.asyncIterator]() {
      if (readBy) throw new TypeError(`this stream is already read by ${readBy}; a stream can be read once`);
      readBy = "a loop";
      return { next: () => Promise.resolve(hasLeft ? over : exchange.next()), return: leave };
    },
  };
  return stream;

  async function drain(): Promise<void> {
    readBy = "result()";
    try {
      await readToEnd();
    } catch (cause) {
      // rejects the result, unless that is settled
      exchange.fail(cause);
    }
  }

  async function leave(): Promise<Step> {
    if (answer.isWhole) await readToEnd();
    else exchange.abort(abortError("The loop over the stream was left before its end"));
    hasLeft = true;
    return over;
  }

  async function readToEnd(): Promise<void> {
    while (!(await exchange.next()).done);
  }
}

function abortError(message: string): DOMException {
  return new DOMException(message, "AbortError");
}
