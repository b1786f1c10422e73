import type { RequestFor } from "../base/validate.js";
import type { Client } from "../client.js";
import type { RequestOptions } from "../transport/send.js";
import type { AssistantMessage, ChatDelta, ChatResult, ChatTiming } from "./protocol/delta.js";
import type { ChatRequest, ChatRequests } from "./protocol/schema.js";
import { createAbortError } from "./protocol/stream-error.js";
import { openReader, over, type ResponseSource, type Step } from "./reader.js";
import { createTextStream } from "./text-stream.js";

/**
 * An answer that is streaming. Iterate it for deltas, or only await `result()`. Leaving the loop aborts the
 * request. The stream can be read once, and is read from the network only as fast as it is consumed. A loop that
 * does not ask for a delta for `timeout.chunkMs` loses its connection.
 */
export interface ChatStream extends AsyncIterable<ChatDelta> {
  /** Message so far; whole once the stream has ended. After `result()` it may be ahead of a slow loop. */
  readonly snapshot: AssistantMessage;
  /** Times so far. After the end they equal `ChatTurn.timing`. */
  readonly timing: ChatTiming;
  /** Facts of the response, known from its first delta on. */
  readonly head: {
    /** Id of the response; empty where it has none. */
    readonly id: string;
    /** Model that answers; empty where the response names none. */
    readonly model: string;
    /** Time of the response, Unix seconds; 0 where it has none. */
    readonly created: number;
  };
  /**
   * Id under which the proxy keeps the answer. Undefined before it is known, and where the proxy keeps none or has lost
   * it. It stays after an error of the connection or a refusal: the answer may still be there.
   */
  readonly streamId: string | undefined;
  /**
   * The text of the answer as a stream of strings, in place of the deltas: iterate it, or pipe it. Cancelling it, or
   * leaving its loop, aborts the request.
   */
  readonly textStream: ReadableStream<string> & AsyncIterable<string>;
  /**
   * Reads the stream to its end, and returns the whole answer, at the latest with the delta `finish`. It may be called
   * at any time, also in a loop: it reads on at full speed, and the loop gets each delta later, in order. They are kept
   * in memory until then.
   */
  result(): Promise<ChatResult>;
  /** Ends the request now. Pending promises reject with `reason`, by default an `AbortError`. */
  abort(reason?: unknown): void;
}

/**
 * Sends a chat request and streams the answer (spec, `POST /v1/chat/completions`).
 *
 * The request is checked and sent at once; errors come from the iteration and from `result()`. The stream is
 * a success only if a `finish_reason` arrived. With `[DONE]` alone its outcome is `unconfirmed`, with a `warning`. A
 * field of an unexpected type is left out, with one `warning`.
 *
 * @param request the gateway's own fields; leave `stream` out
 * @throws {ValidationError} when a rule of the model is broken; nothing was sent
 * @throws {APIError} when the gateway refuses
 * @throws {ConnectionError} when there was no answer
 * @throws {TimeoutError} phase `first-chunk`, `chunk` or `total`; with `partial` once the stream had begun
 * @throws {StreamError} when the stream broke off or carried an error; `partial` has the message so far
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
  // without a request, the stream would read a stored response
  return openStream(client, options, { request: (request ?? {}) as ChatRequest });
}

/** The parts of a stream that `toResponse` needs. */
export interface OpenStream extends ChatStream {
  /** Resolves when the response has come; rejects if it failed. */
  readonly opening: Promise<void>;
  /** True once `[DONE]` has come. */
  readonly isDone: boolean;
}

/** Streams the answer of a source. */
export function openStream(client: Client, options: RequestOptions, source: ResponseSource): OpenStream {
  const reader = openReader(client, options, source);
  let readBy: "a loop" | "result()" | undefined;
  let hasLeft = false;
  let textStream: ChatStream["textStream"] | undefined;
  const stream: OpenStream = {
    get snapshot() {
      return reader.message;
    },
    head: reader.head,
    get timing() {
      return reader.timing();
    },
    get streamId() {
      return reader.streamId;
    },
    opening: reader.opening,
    get isDone() {
      return reader.isDone;
    },
    get textStream() {
      textStream ??= createTextStream(stream);
      return textStream;
    },
    result() {
      // a loop that starts in the same tick has priority
      queueMicrotask(() => {
        readBy ??= "result()";
        void reader.readToEnd(readBy === "a loop");
      });
      return reader.turn;
    },
    abort: (reason = createAbortError("The stream was aborted")) => reader.abort(reason),
    [Symbol.asyncIterator]() {
      if (readBy) throw new TypeError(`this stream is already read by ${readBy}; a stream can be read once`);
      readBy = "a loop";
      return { next: () => Promise.resolve(hasLeft ? over : reader.next()), return: leave };
    },
  };
  return stream;

  async function leave(): Promise<Step> {
    if (reader.isWhole) await reader.readToEnd(false);
    else reader.abort(createAbortError("The loop over the stream was left"));
    hasLeft = true;
    return over;
  }
}
