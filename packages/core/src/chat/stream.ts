import type { RequestFor } from "../base/validate.js";
import type { Client } from "../client.js";
import type { RequestOptions } from "../transport/send.js";
import type { AssistantMessage, ChatDelta, ChatResult, ChatTiming } from "./protocol/delta.js";
import type { ChatRequest, ChatRequests } from "./protocol/schema.js";
import { createAbortError } from "./protocol/stream-error.js";
import { openReader, over, type ResponseSource, type Step } from "./reader.js";
import { createTextStream } from "./text-stream.js";

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

/** Streams the response of a source. */
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
      // a loop that starts in the same tick takes precedence
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
