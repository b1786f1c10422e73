import { Refusal } from "../refusal.js";
import { errorEvent } from "./stream-log-events.js";
import type { EventLog } from "./stream-log-rows.js";

/** Who reads a stream now. */
interface Readers {
  readonly count: number;
  /** Since when nobody reads, in Unix milliseconds. */
  readonly aloneSince: number;
  /** Counts who waits for the gateway's first word as a reader, until they leave or what it returns is called. */
  hold(signal: AbortSignal): () => void;
  /** An event stream of what follows an event, and of all that comes after. */
  open(after: number, signal: AbortSignal): ReadableStream<Uint8Array>;
  /** More is in the log, or its end. */
  wake(): void;
  /** Says that the stream is alive, and lets go of who has stopped reading. */
  beat(): void;
}

interface Reader {
  wake(): void;
  beat(): void;
}

const LOST = new Refusal(502, "stream_interrupted", "the rest of this answer is lost; ask again");
const ALIVE = new TextEncoder().encode(": alive\n\n");

/**
 * Lets any number of readers follow the log, each at its own pace: a reader is a place in the log. So nothing piles up
 * for one that is slow, and between what was kept and what comes there is no seam to lose an event in.
 */
export function openReaders(log: EventLog): Readers {
  const readers = new Set<Reader>();
  let aloneSince = Date.now();

  return {
    get count() {
      return readers.size;
    },
    get aloneSince() {
      return aloneSince;
    },
    hold: (signal) => join({ wake() {}, beat() {} }, signal, () => {}),
    open,
    wake() {
      for (const reader of readers) reader.wake();
    },
    beat() {
      for (const reader of readers) reader.beat();
    },
  };

  function open(after: number, signal: AbortSignal): ReadableStream<Uint8Array> {
    let at = after;
    let wake: (() => void) | undefined;
    let isAlive = true;
    let isGone = false;
    let controller!: ReadableStreamDefaultController<Uint8Array>;
    const reader: Reader = {
      wake: () => wake?.(),
      beat() {
        // it waits for more and left the last sign of life where it was, or did not come back since
        if (wake ? Number(controller.desiredSize) < 0 : !isAlive) return close();
        isAlive = false;
        if (wake) controller.enqueue(ALIVE);
      },
    };
    const leave = join(reader, signal, () => {
      isGone = true;
      wake?.();
    });
    return new ReadableStream(
      {
        start(given) {
          controller = given;
        },
        pull,
      },
      { highWaterMark: 0 },
    );

    async function pull(): Promise<void> {
      isAlive = true;
      for (;;) {
        if (isGone) return;
        const part = log.after(at);
        if (part === "lost") {
          controller.enqueue(new TextEncoder().encode(`${errorEvent(LOST)}\n\n`));
          return close();
        }
        if (part) {
          at = part.last;
          return controller.enqueue(part.bytes);
        }
        if (log.state !== "open") return close();
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        wake = undefined;
      }
    }

    function close(): void {
      leave();
      controller.close();
    }
  }

  function join(reader: Reader, signal: AbortSignal, onLeave: () => void): () => void {
    readers.add(reader);
    // the platform tells nobody else that a client has left: neither `cancel` nor a failing write
    signal.addEventListener("abort", leave);
    if (signal.aborted) leave();
    return leave;

    function leave(): void {
      signal.removeEventListener("abort", leave);
      if (readers.delete(reader) && readers.size === 0) aloneSince = Date.now();
      onLeave();
    }
  }
}
