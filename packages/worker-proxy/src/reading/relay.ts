import { openPieces } from "../base/bytes.js";
import { type Call, createFailure } from "../gateway/call.js";
import type { StreamEnd } from "../gateway/exchange.js";
import { describeRefusal, formatErrorEvent, Refusal } from "../refusals/refusal.js";
import { type EventBytesOptions, openEventBytes } from "./chat-events.js";

interface RelayOptions extends EventBytesOptions {
  /** Called before the first piece goes on. */
  readonly onFirstByte?: () => void;
  /** Called after each piece that goes on, with all its events. */
  readonly onPass?: () => void;
  /** Called once, when the stream is over. */
  readonly onEnd: (end: StreamEnd) => void;
  /** Longest time without content from the gateway, or without a read by the client, in milliseconds. */
  readonly stallMs: number;
}

/**
 * Reads an event stream and passes it on, event by event, as fast as the client takes it. Not by `tee`: a second
 * reader would go on, and cost, after the client has left.
 *
 * Over HTTP a cut can look like an end. A stream that breaks off gets one more event, `error`, and never a `[DONE]` that
 * the gateway did not send. A stream whose choices all have their `finish_reason` is whole without `[DONE]`.
 */
export function relay(
  body: ReadableStream<Uint8Array>,
  call: Call,
  options: RelayOptions,
): ReadableStream<Uint8Array> {
  let pull!: () => Promise<void>;
  return new ReadableStream(
    {
      start(client) {
        pull = readEventStream(body, call, options, client);
      },
      pull: () => pull(),
      cancel: () => call.stop("client_left"),
    },
    { highWaterMark: 0 },
  );
}

/**
 * Reads the event stream of a chat, with the checks of `readStreams()`. Without `client` it reads as fast as the events
 * arrive, for `onEvent` alone.
 *
 * @returns the `pull` of the client's stream
 * @example
 * ```ts
 * async function countEvents(response: Response, call: Call, keys: readonly string[]): Promise<number> {
 *   let events = 0;
 *   const { body } = checkType(response, true);
 *   await new Promise<StreamEnd>((onEnd) => {
 *     const onEvent = () => void (events += 1);
 *     readEventStream(body, call, { keys, stallMs: 60_000, onEvent, onEnd });
 *   });
 *   return events;
 * }
 * ```
 */
export function readEventStream(
  body: ReadableStream<Uint8Array>,
  call: Call,
  { stallMs, onFirstByte, onPass, onEnd, ...options }: RelayOptions,
  client?: ReadableStreamDefaultController<Uint8Array>,
): () => Promise<void> {
  const pieces = openPieces(body, READ_BYTES);
  const events = openEventBytes(options);
  const { chat } = events;
  let isEnded = false;
  /** True once the gateway's connection has ended. */
  let isRead = false;
  let passedAt = 0;
  let passedBytes = 0;
  let passing: ReturnType<typeof setTimeout> | undefined;
  /** Time of the last content, plus the time during which the client read nothing. */
  let contentAt = Date.now();
  /** Time since which the client has taken nothing; undefined while it waits for more. */
  let idleSince = client && contentAt;
  /** Resolves the pull that waits. */
  let satisfy = () => {};
  /** Resumes reading. */
  let resume = () => {};

  limitStall();
  call.onAbort = () => {
    pieces.cancel(); // a response made in this process does not notice the abort
    if (call.stopped) fail(createFailure(call.stopped));
  };
  passAll().catch((error) => fail(error instanceof Refusal ? error : createFailure("upstream_cut")));
  return pull;

  function pull(): Promise<void> {
    contentAt += Date.now() - (idleSince ?? Date.now());
    idleSince = undefined;
    limitStall();
    return new Promise((resolve) => {
      satisfy = resolve;
      resume();
    });
  }

  /** Reads as long as the client waits. */
  async function passAll(): Promise<void> {
    while (!isRead) {
      if (isEnded || idleSince === undefined) {
        const bytes = await pieces.next();
        isRead = !bytes;
        if (isEnded) return call.close(isRead);
        if (bytes) events.push(bytes);
      } else
        await new Promise<void>((resolve) => {
          resume = resolve;
        });
      passSoon();
    }
    pass();
    send(events.end());
    end(chat.isOver ? undefined : createFailure("upstream_cut"));
  }

  /** Passes single pieces at once, and collects those of a stream at full speed: each check and write costs. */
  function passSoon(): void {
    if (isRead || isEnded || idleSince !== undefined) return;
    if (events.size >= WRITE_BYTES || Date.now() - passedAt > MOMENT_MS) pass();
    else passing ??= setTimeout(pass, MOMENT_MS);
  }

  function pass(): void {
    clearTimeout(passing);
    passing = undefined;
    if (isEnded) return;
    const before = chat.contents;
    try {
      send(events.take());
    } catch (error) {
      return end(error as Refusal);
    }
    if (chat.contents > before) contentAt = Date.now();
    if (chat.isOver) end();
    else limitStall();
  }

  function send(piece: Uint8Array | undefined): void {
    if (!piece || isEnded) return;
    if (passedBytes === 0) onFirstByte?.();
    passedAt = Date.now();
    passedBytes += piece.byteLength;
    if (client) {
      idleSince = passedAt;
      client.enqueue(piece);
    }
    onPass?.();
    satisfy();
  }

  /** Limits the silence of the gateway while the client waits, and the client's while it does not. */
  function limitStall(): void {
    const isWaiting = idleSince === undefined;
    const endsAt = (idleSince ?? contentAt) + (isWaiting && chat.isFinished ? GRACE_MS : stallMs);
    call.limit({ ms: endsAt - Date.now(), late: isWaiting ? "upstream_idle" : "client_stalled" });
  }

  /** Ends with an error, after all whole events. */
  function fail(problem: Refusal): void {
    if (!problem.reason.startsWith("client_")) pass();
    end(problem);
  }

  function end(problem?: Refusal): void {
    if (isEnded) return;
    isEnded = true;
    clearTimeout(passing);
    const { usage, hasFailed, isFinished, isConfirmed, contents } = chat;
    const isWhole = isFinished && /^upstream_(?:cut|idle)$/.test(problem?.reason ?? "");
    const failure = isWhole ? undefined : problem;
    const code = failure ? describeRefusal(failure).code : hasFailed ? "upstream_error" : undefined;
    const isAnswered = code === undefined || (isFinished && !hasFailed);
    const isRefused = code === "upstream_error" && contents === 1;
    onEnd({
      ...(code !== undefined && { code }),
      ...(failure && { problem: failure }),
      ...(usage && { usage }),
      outcome: isAnswered ? "answered" : isRefused ? "refused" : "unknown",
      isConfirmed,
      bytes: passedBytes,
    });
    if (failure?.reason === "client_stalled") client?.error(failure);
    else if (failure?.reason !== "client_left") {
      if (failure) client?.enqueue(formatErrorEvent(failure));
      client?.close();
    }
    if (failure || isRead || !chat.isOver) return call.close(isRead);
    // the end of the connection follows `[DONE]` at once: it can be used again once it is read
    call.limit({ ms: GRACE_MS, late: "upstream_idle" });
    resume();
  }
}

/** Time for which a stream at full speed is collected, in milliseconds: too short to be seen. */
const MOMENT_MS = 1;
/** The most that is collected, in bytes. */
const WRITE_BYTES = 64 * 1024;
/** Time to wait for usage and `[DONE]` behind the last finish reason, and for the end behind those, in milliseconds. */
const GRACE_MS = 2000;

/** Room for each read, in bytes: what a gateway writes in chunks comes in no larger pieces. */
const READ_BYTES = 4096;
