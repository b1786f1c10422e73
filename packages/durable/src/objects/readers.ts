import type { Refusal } from "@sluice/worker-proxy/internal";
import { openPipe } from "@sluice/worker-proxy/internal";
import { objectRefusal } from "./refusals.js";

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
   * @param left called once, when the stream is over
   * @throws {Refusal} 429 `too_many_readers`
   */
  open(next: () => Next, signal: AbortSignal, left?: () => void): Response;
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
  left?: (() => void) | undefined;
}

/** Usual longest silence in a stream, in milliseconds: shorter than the 60 s of networks, of the proxy and of clients. */
const BEAT_MS = 25_000;
/** The most of one write, which a client has to take within two beats. */
const WRITE_BYTES = 64 * 1024;
const COMMENT = new TextEncoder().encode(":\n\n");

/**
 * Serves up to `most` readers, each at its own pace: each reader pulls what follows its own place, so that nothing is
 * buffered for a slow one, and no event is lost between stored and new ones. A reader that takes nothing for two beats is
 * ended; it can reconnect and go on.
 *
 * @param beatMs longest silence in a stream, in milliseconds
 */
export function openReaders(most: number, beatMs = BEAT_MS): Readers {
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

  function all(act: Exclude<keyof Reader, "left">): void {
    for (const reader of readers) reader[act]();
  }

  function hold(signal: AbortSignal): () => void {
    const reader: Reader = { wake() {}, beat() {}, end: () => void remove(reader) };
    add(reader, signal);
    return reader.end;
  }

  function open(next: () => Next, signal: AbortSignal, left?: () => void): Response {
    if (readers.size >= most) throw tooMany(most);
    const { readable, writable } = openPipe();
    const writer = writable.getWriter();
    /** The rest of the part that is being written. */
    let rest: Uint8Array | undefined;
    let isWriting = false;
    /** Beats since the client has taken something. */
    let beats = 0;
    const reader: Reader = { wake, beat, end, left };
    add(reader, signal);
    goOn();
    return new Response(readable, { headers: { "content-type": "text/event-stream" } });

    function wake(): void {
      if (!isWriting) goOn();
    }

    /** Writes what follows. One write is under way at a time: what comes meanwhile waits in the log. */
    function goOn(): void {
      isWriting = false;
      if (!readers.has(reader)) return;
      const part = rest ?? next();
      if (part === "end") return end();
      if (part === "wait") return;
      rest = part.byteLength > WRITE_BYTES ? part.subarray(WRITE_BYTES) : undefined;
      send(rest ? part.subarray(0, WRITE_BYTES) : part);
    }

    function send(bytes: Uint8Array): void {
      isWriting = true;
      beats = 0;
      writer.write(bytes).then(goOn, () => remove(reader));
    }

    /** Writes to a reader that waits, and ends a reader that has taken nothing for two beats. */
    function beat(): void {
      beats += 1;
      if (!isWriting) send(COMMENT);
      else if (beats > 1) end();
    }

    function end(): void {
      if (remove(reader)) writer.close().catch(() => {});
    }
  }

  function add(reader: Reader, signal: AbortSignal): void {
    readers.add(reader);
    timer ??= setInterval(() => all("beat"), beatMs);
    // the platform reports here, and neither by `cancel` nor by a failing write, that a client has left
    signal.addEventListener("abort", reader.end);
    if (signal.aborted) reader.end();
  }

  /** Returns false where the reader was removed before. */
  function remove(reader: Reader): boolean {
    if (!readers.delete(reader)) return false;
    reader.left?.();
    if (readers.size === 0) {
      aloneSince = Date.now();
      clearInterval(timer);
      timer = undefined;
    }
    return true;
  }
}

function tooMany(most: number): Refusal {
  return objectRefusal("too_many_readers", { what: most, headers: { "retry-after": "60" } });
}
