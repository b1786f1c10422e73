import type { Usage } from "../admitted.js";
import { errorBody, type Refusal } from "../refusal.js";
import { openBytes } from "./bytes.js";
import { type Call, failed } from "./call.js";

interface RelayOptions {
  /** How long the gateway may be silent while the client waits for more, in milliseconds. */
  readonly idleMs: number;
  /** Whether an end has to be said, as a chat's is; an end that is not is a cut. */
  readonly isChat: boolean;
  /** Called before the first piece goes on. */
  readonly onFirstByte: () => void;
  /** Called once, when the stream is over. */
  readonly onEnd: (ending: Ending) => void;
  readonly countsUsage: boolean;
  /** Throws the refusal of lines that must not go on. */
  readonly check: (lines: string) => void;
}

/** How a stream ended. */
interface Ending {
  /** The `error.code` of what went wrong; absent where the stream is whole. */
  readonly code?: string | undefined;
  /** The last `usage`, where it is counted. */
  readonly usage: Usage | undefined;
  /** Number of bytes that were passed on. */
  readonly bytes: number;
}

/**
 * Passes an event stream on as far as the client takes it, so that a slow client slows the gateway down and nothing
 * piles up here. Never `tee`: a second reader would drain, and pay for, what the client has left.
 *
 * Over HTTP a cut can look like an end. One that breaks off gets one more event, `error`, and never a `[DONE]` that
 * the gateway did not send.
 */
export function relay(
  body: ReadableStream<Uint8Array>,
  call: Call,
  { idleMs, isChat, onFirstByte, onEnd, countsUsage, check }: RelayOptions,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  const lines = openLines();
  const end = (code?: string) =>
    onEnd({ code, usage: countsUsage ? lastUsageIn(tail) : undefined, bytes: passed });
  let passed = 0;
  /** The last that went on, for what the end of a stream says. */
  let tail = "";
  /** A read that may outlive the pull that began it. */
  let reading: ReturnType<typeof reader.read> | undefined;
  let passedAt = 0;
  call.signal.addEventListener("abort", () => {
    reader.cancel().catch(() => {}); // an answer made in this process does not hear the abort
    if (call.stopped === "client_left") end(call.stopped); // nobody will pull again
  });
  return new ReadableStream({ pull, cancel: () => call.stop("client_left") }, { highWaterMark: 0 });

  async function pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
    try {
      for (let bytes = await read(); bytes; bytes = await read()) {
        const piece = lines.whole(bytes);
        if (!piece) continue;
        look(piece);
        passedAt = Date.now();
        return pass(controller, piece);
      }
      const rest = lines.rest();
      look(rest);
      if (isChat && !END.test(tail)) throw failed("upstream_cut");
      if (rest.byteLength > 0) pass(controller, rest);
      controller.close();
      end();
    } catch (error) {
      fail(controller, error as Refusal);
    }
    call.close();
  }

  function pass(controller: ReadableStreamDefaultController<Uint8Array>, piece: Uint8Array): void {
    onFirstByte();
    passed += piece.byteLength;
    controller.enqueue(piece);
  }

  function look(piece: Uint8Array): void {
    const text = latin1.decode(piece);
    check(text);
    tail += text;
    if (tail.length > 2 * TAIL_BYTES) tail = tail.slice(-TAIL_BYTES);
  }

  /**
   * What the gateway has sent, at once; but behind a piece that has just gone, what comes within a moment, together:
   * a stream at full speed then costs one write for each moment, where one for each piece takes several times as long.
   */
  async function read(): Promise<Uint8Array | undefined> {
    const first = await call.wait(next, idleMs, "upstream_idle", "upstream_cut");
    reading = undefined;
    if (first.done || Date.now() - passedAt > MOMENT_MS) return first.value;
    const gathered = openBytes();
    gathered.add(first.value);
    let isOver = () => {};
    const over = new Promise<undefined>((resolve) => {
      isOver = () => resolve(undefined);
    });
    const timer = setTimeout(isOver, MOMENT_MS);
    while (gathered.size < WRITE_BYTES) {
      // a failure, like an end, stays for the next one who reads
      const part = await Promise.race([next(), over]).catch(() => undefined);
      if (!part || part.done) break;
      reading = undefined;
      gathered.add(part.value);
    }
    clearTimeout(timer);
    return gathered.take();
  }

  function next(): ReturnType<typeof reader.read> {
    reading ??= reader.read();
    return reading;
  }

  function fail(controller: ReadableStreamDefaultController<Uint8Array>, refusal: Refusal): void {
    end(refusal.code);
    if (call.stopped === "client_left") return;
    // the blank line closes the event that may be open
    const event = `\n\nevent: error\ndata: ${errorBody(refusal)}\n\n`;
    controller.enqueue(new TextEncoder().encode(event));
    controller.close();
  }
}

/** Each byte a letter, wherever a text was cut: what is looked for is ASCII. */
const latin1 = new TextDecoder("latin1");
/** So long pieces are gathered, in milliseconds; nobody sees it. */
const MOMENT_MS = 1;
/** As much as is gathered at most. */
const WRITE_BYTES = 64 * 1024;
const LINE_FEED = 10;
/** A line that does not end within this many bytes is passed on in pieces: memory stays bounded. */
const HELD_BYTES = 1024 * 1024;
/** So much of a stream is remembered at least. */
const TAIL_BYTES = 128 * 1024;
/** Inside a JSON string quotes are escaped, so text that speaks of a `finish_reason` does not count as one. */
const END = /"finish_reason"\s*:\s*"|^data: ?\[DONE\]|^event: ?error/m;
const USAGE = /^data: ?(\{.*"usage"\s*:\s*\{.*)$/gm;

/** Cuts a stream at its line ends: a line that breaks off is held back, and never passed on as if it were whole. */
function openLines() {
  const held = openBytes();
  return {
    whole(piece: Uint8Array): Uint8Array | undefined {
      const end = piece.lastIndexOf(LINE_FEED) + 1;
      const ended = end ? piece.subarray(0, end) : piece;
      if (end && held.size === 0) {
        held.add(piece.subarray(end));
        return ended;
      }
      held.add(ended);
      if (end === 0 && held.size < HELD_BYTES) return undefined;
      const whole = held.take();
      held.add(piece.subarray(ended.byteLength));
      return whole;
    },
    rest: held.take,
  };
}

function lastUsageIn(text: string): Usage | undefined {
  return [...text.matchAll(USAGE)].map(([, json = ""]) => usageIn(json)).findLast((usage) => usage);
}

/** The `usage` of an answer or of a chunk of one. */
export function usageIn(json: string): Usage | undefined {
  try {
    const { usage } = JSON.parse(json) as { usage?: unknown };
    return typeof usage === "object" && usage !== null ? (usage as Usage) : undefined;
  } catch {
    return undefined;
  }
}
