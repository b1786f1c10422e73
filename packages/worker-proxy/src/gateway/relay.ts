import type { CallOutcome, Usage } from "../admitted.js";
import type { Refusal } from "../refusal.js";
import { errorEvent, textOf } from "../refusals.js";
import { openBytes } from "./bytes.js";
import { type Call, failed } from "./call.js";
import type { ChatState } from "./chat-events.js";
import { type EventBytesOptions, openEventBytes } from "./event-bytes.js";

/** The end of a stream, and what was read of it. */
export interface StreamEnd {
  /** The `error.code` of what went wrong; absent if the answer is whole. */
  readonly code?: string;
  /** The failure behind the `code`; absent if the answer is whole, or ended with an error of the gateway's. */
  readonly problem?: Refusal;
  /** The last `usage` of the stream. */
  readonly usage?: Usage;
  /** The end of the call. What the choices have finished before a cut is an answer. */
  readonly outcome: CallOutcome;
  /** Number of bytes that were passed on. */
  readonly bytes: number;
}

interface RelayOptions extends EventBytesOptions {
  /** Called before the first piece goes on. */
  readonly onFirstByte?: () => void;
  /** Called once, when the stream is over. */
  readonly onEnd: (end: StreamEnd) => void;
  /** How long the gateway may send no content, or the client take none, in milliseconds. */
  readonly stallMs: number;
}

/**
 * Reads an event stream and passes it on, event by event, as fast as the client takes it. Never `tee`: a second reader
 * would drain, and pay for, what the client has left.
 *
 * Over HTTP a cut can look like an end. A stream that breaks off gets one more event, `error`, and never a `[DONE]` that
 * the gateway did not send. A stream whose choices all have their `finish_reason` is whole without `[DONE]`.
 */
export function relay(
  body: ReadableStream<Uint8Array>,
  call: Call,
  { stallMs, onFirstByte, onEnd, ...options }: RelayOptions,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const answer = openEventBytes(options);
  const { chat } = answer;
  /** A read that may outlive the pull that began it. */
  let reading: ReturnType<typeof reader.read> | undefined;
  let isEnded = false;
  let passedAt = 0;
  let passedBytes = 0;
  /** The last content came then; the time in which the client took nothing is added. */
  let contentAt = Date.now();
  /** The client has taken nothing since then; undefined while it waits for more. */
  let idleSince: number | undefined = contentAt;
  let watch = setTimeout(checkStall, stallMs);
  let out: ReadableStreamDefaultController<Uint8Array>;

  call.signal.addEventListener("abort", () => {
    reader.cancel().catch(() => {}); // an answer made in this process does not hear the abort
    if (call.stopped) end(failed(call.stopped));
  });
  return new ReadableStream(
    {
      start(controller) {
        out = controller;
      },
      pull,
      cancel: () => call.stop("client_left"),
    },
    { highWaterMark: 0 },
  );

  async function pull(): Promise<void> {
    contentAt += Date.now() - (idleSince ?? Date.now());
    idleSince = undefined;
    try {
      await passSome();
    } catch (error) {
      end(error as Refusal);
    }
    idleSince = Date.now();
  }

  async function passSome(): Promise<void> {
    for (let bytes = await read(); bytes; bytes = await read()) {
      const before = chat.contents;
      const piece = answer.push(bytes);
      if (chat.contents > before) contentAt = Date.now();
      if (piece) pass(piece);
      if (chat.isOver) return end();
      if (piece) return;
    }
    const rest = answer.end();
    if (rest) pass(rest);
    end(failed("upstream_cut"));
  }

  function pass(piece: Uint8Array): void {
    if (passedBytes === 0) onFirstByte?.();
    passedAt = Date.now();
    passedBytes += piece.byteLength;
    out.enqueue(piece);
  }

  /** The next bytes; undefined at the end. Behind a finish reason no more has to come, and little is waited for. */
  async function read(): Promise<Uint8Array | undefined> {
    const first = await call.wait(next, "upstream_cut", graceOf(chat, contentAt));
    reading = undefined;
    return first.done || Date.now() - passedAt > MOMENT_MS ? first.value : await gathered(first.value);
  }

  /**
   * What comes within a moment behind a piece that has just gone, together: a stream at full speed then costs one write
   * for each moment, where one for each piece takes several times as long.
   */
  async function gathered(first: Uint8Array): Promise<Uint8Array> {
    const pieces = openBytes();
    pieces.add(first);
    let isOver = () => {};
    const over = new Promise<undefined>((resolve) => {
      isOver = () => resolve(undefined);
    });
    const timer = setTimeout(isOver, MOMENT_MS);
    while (pieces.size < WRITE_BYTES) {
      // a failure, like an end, stays for the next read
      const part = await Promise.race([next(), over]).catch(() => undefined);
      if (!part || part.done) break;
      reading = undefined;
      pieces.add(part.value);
    }
    clearTimeout(timer);
    return pieces.take();
  }

  function next(): ReturnType<typeof reader.read> {
    reading ??= reader.read();
    return reading;
  }

  /** One timer for a whole stream: a timer for each read costs more than the read. */
  function checkStall(): void {
    const left = stallMs - (Date.now() - (idleSince ?? contentAt));
    if (left > 0) watch = setTimeout(checkStall, left);
    else call.stop(idleSince === undefined ? "upstream_idle" : "client_stalled");
  }

  function end(problem?: Refusal): void {
    if (isEnded) return;
    isEnded = true;
    clearTimeout(watch);
    const isWhole = chat.isFinished && ["upstream_cut", "upstream_idle"].includes(problem?.reason ?? "");
    const failure = isWhole ? undefined : problem;
    const { usage, hasFailed, isFinished, contents } = chat;
    const code = failure ? textOf(failure).code : hasFailed ? "upstream_error" : undefined;
    const isRefused = code === "upstream_error" && contents === 1;
    onEnd({
      ...(code !== undefined && { code }),
      ...(failure && { problem: failure }),
      ...(usage && { usage }),
      outcome:
        code === undefined || (isFinished && !hasFailed) ? "answered" : isRefused ? "refused" : "unknown",
      bytes: passedBytes,
    });
    if (failure?.reason === "client_stalled") out.error(failure);
    else if (failure?.reason !== "client_left") {
      if (failure) out.enqueue(errorEvent(failure));
      out.close();
    }
    call.close();
  }
}

/** A stream at full speed is gathered for so long, in milliseconds; nobody sees it. */
const MOMENT_MS = 1;
/** The most that is gathered, in bytes. */
const WRITE_BYTES = 64 * 1024;
/** Behind the last finish reason, usage and `[DONE]` are waited for so long, in milliseconds. */
const GRACE_MS = 2000;

function graceOf({ isFinished }: ChatState, since: number) {
  if (!isFinished) return undefined;
  return { ms: Math.max(0, since + GRACE_MS - Date.now()), late: "upstream_idle" } as const;
}
