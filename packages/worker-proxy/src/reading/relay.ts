import { openPieces } from "../base/bytes.js";
import { type Call, createFailure } from "../gateway/call.js";
import type { StreamEnd } from "../gateway/exchange.js";
import { formatErrorEvent, type Refusal } from "../refusals/refusal.js";
import { type EventBytesOptions, openEventBytes } from "./chat-events.js";

interface RelayOptions extends EventBytesOptions {
  /** Called before the first piece is passed on. */
  readonly onFirstByte?: () => void;
  /** Called after each piece is passed on, with all its events. */
  readonly onPass?: () => void;
  /** Called once, when the stream is over. */
  readonly onEnd: (end: StreamEnd) => void;
  /** Longest time without content from the gateway, or without a read by the client, in milliseconds. */
  readonly stallMs: number;
}

/**
 * Reads an event stream and passes it on, event by event, as fast as the client takes it. It does not use `tee`: a second
 * reader would continue, and cost, after the client has disconnected.
 *
 * Over HTTP a cut can look like an end. A stream that breaks off gets one more event, `error`, and never a `[DONE]` that
 * the gateway did not send. A stream whose choices all have their `finish_reason` is whole without `[DONE]`.
 */
export function relay(
  body: ReadableStream<Uint8Array>,
  call: Call,
  { onEnd, ...options }: RelayOptions,
): ReadableStream<Uint8Array> {
  let next!: () => Promise<Uint8Array | undefined>;
  return new ReadableStream(
    {
      start(client) {
        next = readEventStream(body, call, {
          ...options,
          onEnd(end) {
            onEnd(end);
            // a client that reads nothing does not pull the error
            if (end.problem?.reason === "client_stalled") client.error(end.problem);
          },
        });
      },
      async pull(client) {
        const piece = await next();
        if (piece) client.enqueue(piece);
        else client.close();
      },
      cancel: () => call.stop("client_left"),
    },
    { highWaterMark: 0 },
  );
}

/**
 * Reads the event stream of a chat, with the checks of `readStreams()`.
 *
 * @returns a function that resolves with the next whole events, and an `error` of the proxy as their last; with
 *   undefined once the stream is over. Each call waits for the gateway, and the time between two calls counts as the
 *   client's
 */
export function readEventStream(
  body: ReadableStream<Uint8Array>,
  call: Call,
  { stallMs, onFirstByte, onPass, onEnd, ...options }: RelayOptions,
): () => Promise<Uint8Array | undefined> {
  const pieces = openPieces(body, READ_BYTES);
  const events = openEventBytes(options);
  const { chat } = events;
  let isEnded = false;
  let passedBytes = 0;
  /** Time of the last content, plus the time during which the client read nothing. */
  let contentAt = Date.now();
  let idleSince = contentAt;
  /** The event of a failure, until the client takes it. */
  let errorEvent: Uint8Array | undefined;

  call.onAbort = () => {
    pieces.cancel(); // a response made in this process does not notice the abort
    if (call.stopped) end(createFailure(call.stopped));
  };
  call.limit({ ms: stallMs, late: "client_stalled" });
  return next;

  async function next(): Promise<Uint8Array | undefined> {
    contentAt += Date.now() - idleSince;
    try {
      while (!isEnded) {
        const piece = await readPiece();
        if (piece) return piece;
      }
    } catch (error) {
      end(error as Refusal);
    }
    const last = errorEvent;
    errorEvent = undefined;
    return last;
  }

  /** Reads once, and returns the events that are whole by then, if any. */
  async function readPiece(): Promise<Uint8Array | undefined> {
    const before = chat.contents;
    const ms = contentAt + (chat.isFinished ? GRACE_MS : stallMs) - Date.now();
    const bytes = await call.wait(pieces.next, "upstream_cut", { ms, late: "upstream_idle" });
    if (bytes) events.push(bytes);
    const whole = bytes ? events.take() : events.end();
    idleSince = Date.now();
    if (chat.contents > before) contentAt = idleSince;
    if (whole) {
      if (passedBytes === 0) onFirstByte?.();
      passedBytes += whole.byteLength;
      onPass?.();
    }
    if (chat.isOver || !bytes) end(chat.isOver ? undefined : createFailure("upstream_cut"), !bytes);
    else call.limit({ ms: stallMs, late: "client_stalled" });
    return whole;
  }

  /** @param isRead true once the gateway's connection has ended */
  function end(problem?: Refusal, isRead = false): void {
    if (isEnded) return;
    isEnded = true;
    const { usage, hasFailed, isFinished, isConfirmed, contents } = chat;
    const isWhole = isFinished && /^upstream_(?:cut|idle)$/.test(problem?.reason ?? "");
    const failure = isWhole ? undefined : problem;
    const code = failure ? failure.code : hasFailed ? "upstream_error" : undefined;
    const hasResponded = code === undefined || (isFinished && !hasFailed);
    const isRefused = code === "upstream_error" && contents === 1;
    if (failure && !failure.reason.startsWith("client_")) errorEvent = formatErrorEvent(failure);
    onEnd({
      ...(code !== undefined && { code }),
      ...(failure && { problem: failure }),
      ...(usage && { usage }),
      outcome: hasResponded ? "responded" : isRefused ? "refused" : "unknown",
      isConfirmed,
      bytes: passedBytes,
    });
    if (problem || isRead) return call.close(isRead);
    // the end of the connection follows `[DONE]` at once: it can be used again once it is read
    call
      .wait(pieces.next, "upstream_cut", { ms: GRACE_MS, late: "upstream_idle" })
      .then((more) => call.close(!more))
      .catch(() => call.close());
  }
}

/** Time to wait for usage and `[DONE]` after the last finish reason, and then for the end, in milliseconds. */
const GRACE_MS = 2000;

/** Buffer of each read, in bytes. The chunks of a gateway are smaller. */
const READ_BYTES = 4096;
