import { Refusal } from "../refusal.js";

/** Event streams from one object to its clients. */
export interface Readers {
  /** Number of requests that read or wait now. */
  readonly count: number;
  /** Unix milliseconds since which there is no reader. */
  readonly aloneSince: number;
  /** Counts a request as a reader until its client leaves or the returned function is called. */
  hold(signal: AbortSignal): () => void;
  /**
   * Opens an event stream.
   *
   * @param next called whenever the client can take more; it holds the reader's place
   * @throws {Refusal} 429 `too_many_readers`
   */
  open(next: () => Next, signal: AbortSignal): Response;
  /** Makes each waiting reader call `next` again. */
  wake(): void;
  /** Ends all streams as they are. */
  close(): void;
}

/** Next bytes of a stream; `"wait"` until {@link Readers.wake}, or `"end"`. */
export type Next = Uint8Array | "wait" | "end";

interface Reader {
  wake(): void;
  beat(): void;
  end(): void;
}

/** Longest silence in a stream, in milliseconds: shorter than the 60 s of networks, of the proxy and of clients. */
const BEAT_MS = 25_000;
/** Size of what waits in memory for one client, give or take one part. */
const QUEUE_BYTES = 64 * 1024;
const COMMENT = new TextEncoder().encode(":\n\n");

/**
 * Lets up to `most` clients read, each at its own pace: a reader asks for what follows its own place, so nothing piles
 * up for a slow one, and no event can be lost between what is kept and what comes. A reader that takes nothing for two
 * beats is ended; it can come back and go on.
 */
export function openReaders(most: number): Readers {
  const readers = new Set<Reader>();
  let aloneSince = Date.now();
  let timer: ReturnType<typeof setInterval> | undefined;

  return {
    get count() {
      return readers.size;
    },
    get aloneSince() {
      return aloneSince;
    },
    hold,
    open,
    wake: () => all("wake"),
    close: () => all("end"),
  };

  function all(act: keyof Reader): void {
    for (const reader of readers) reader[act]();
  }

  function hold(signal: AbortSignal): () => void {
    const reader: Reader = { wake() {}, beat() {}, end: () => void remove(reader) };
    add(reader, signal);
    return reader.end;
  }

  function open(next: () => Next, signal: AbortSignal): Response {
    if (readers.size >= most) throw tooMany(most);
    let controller!: ReadableStreamDefaultController<Uint8Array>;
    /** Set while the reader waits for more. */
    let resume: (() => void) | undefined;
    let sent = 0;
    let sentBefore = 0;
    let takenBefore = -1;
    const reader: Reader = { wake: () => resume?.(), beat, end };
    const start = (given: typeof controller) => {
      controller = given;
    };
    const size = (bytes?: Uint8Array) => bytes?.byteLength ?? 0;
    const body = new ReadableStream<Uint8Array>(
      { start, pull, cancel: () => void remove(reader) },
      { highWaterMark: QUEUE_BYTES, size },
    );
    add(reader, signal);
    return new Response(body, { headers: { "content-type": "text/event-stream" } });

    async function pull(): Promise<void> {
      while (readers.has(reader)) {
        const part = next();
        if (part === "end") return end();
        if (part !== "wait") return send(part);
        await new Promise<void>((resolve) => {
          resume = resolve;
        });
        resume = undefined;
      }
    }

    function send(bytes: Uint8Array): void {
      sent += bytes.byteLength;
      controller.enqueue(bytes);
    }

    /** Ends a reader that since the last beat has taken nothing of what was there then. */
    function beat(): void {
      const taken = sent - (QUEUE_BYTES - Number(controller.desiredSize));
      if (taken === takenBefore && taken < sentBefore) return end();
      if (resume) send(COMMENT);
      takenBefore = taken;
      sentBefore = sent;
    }

    function end(): void {
      if (remove(reader)) controller.close();
      resume?.();
    }
  }

  function add(reader: Reader, signal: AbortSignal): void {
    readers.add(reader);
    timer ??= setInterval(() => all("beat"), BEAT_MS);
    // the platform reports here, and neither by `cancel` nor by a failing write, that a client has left
    signal.addEventListener("abort", reader.end);
    if (signal.aborted) reader.end();
  }

  /** Returns false where the reader was removed before. */
  function remove(reader: Reader): boolean {
    if (!readers.delete(reader)) return false;
    if (readers.size === 0) {
      aloneSince = Date.now();
      clearInterval(timer);
      timer = undefined;
    }
    return true;
  }
}

function tooMany(most: number): Refusal {
  const message = `this is open in ${most} places already; close one, or try again later`;
  return new Refusal(429, "too_many_readers", message, { headers: { "retry-after": "60" } });
}
