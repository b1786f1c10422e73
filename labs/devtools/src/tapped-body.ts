import { createConnectionError, EVENTS_BEFORE_FAULT } from "./faults.js";

/** End of a body: read to its end, broken by a fault or the network, or aborted by the page. */
export type BodyEnd = "complete" | "broken" | "aborted";

/** Observer of a body. */
export interface BodyObserver {
  /** Runs for each event of a stream, or once for any other body. */
  onFrame(text: string, bytes: number): void;
  /** Runs once. */
  onEnd(end: BodyEnd): void;
}

/** Settings of {@link tapBody}. */
export interface BodySettings {
  /** True for a stream of events. Any other body is one frame. */
  readonly isStream: boolean;
  /** Fault of this body. */
  readonly fault: "cut" | "stall" | undefined;
  /** Breaks the body when it aborts. */
  readonly signal: AbortSignal;
  /** Maximum number of stored characters of a frame. */
  readonly maxText: number;
}

/**
 * Passes a body through unchanged, byte by byte and at the reader's pace, and reports its frames. A fault breaks or
 * stops it after some events.
 */
export function tapBody(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  observer: BodyObserver,
  { isStream, fault, signal, maxText }: BodySettings,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const reader = body.getReader();
  const frames = createFrames(isStream, maxText, observer);
  const ended = new AbortController();
  const broken = new Promise<never>((_, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { signal: ended.signal });
  });
  broken.catch(() => {});
  return new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      pull: (controller) =>
        forward(controller).catch((error) => {
          end("broken");
          controller.error(error);
        }),
      cancel(reason) {
        end("aborted");
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );

  async function forward(
    controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>,
  ): Promise<void> {
    const { done, value } = await Promise.race([reader.read(), broken]);
    const maxFrames = fault ? EVENTS_BEFORE_FAULT - frames.count() : Number.POSITIVE_INFINITY;
    const passed = value && frames.push(value, maxFrames);
    if (passed?.length) controller.enqueue(passed);
    if (fault && (done || frames.count() >= EVENTS_BEFORE_FAULT)) return playFault();
    if (!done) return;
    frames.end();
    end("complete");
    controller.close();
  }

  /** Plays the fault: a cut disconnects at once, like a lost connection. A stall waits until the page disconnects. */
  async function playFault(): Promise<void> {
    if (fault === "stall") return broken;
    reader.cancel().catch(() => {});
    throw createConnectionError();
  }

  function end(bodyEnd: BodyEnd): void {
    if (ended.signal.aborted) return;
    ended.abort();
    observer.onEnd(bodyEnd);
    if (bodyEnd === "broken") reader.cancel().catch(() => {});
  }
}

const LF = 10;
const CR = 13;

/** Counts and reports frames. An event of a stream ends with a blank line. */
function createFrames(isStream: boolean, maxText: number, { onFrame }: BodyObserver) {
  const decoder = new TextDecoder();
  let lineFeeds = 0;
  let count = 0;
  let text = "";
  let bytes = 0;
  return { count: () => count, push, end };

  /** Reads bytes until `max` frames have ended. Returns these bytes. */
  function push(chunk: Uint8Array<ArrayBuffer>, max: number): Uint8Array<ArrayBuffer> {
    let start = 0;
    let ended = 0;
    for (let index = 0; isStream && index < chunk.length && ended < max; index++) {
      const byte = chunk[index];
      if (byte === LF) lineFeeds += 1;
      else if (byte !== CR) lineFeeds = 0;
      if (lineFeeds < 2) continue;
      append(chunk.subarray(start, index + 1));
      reportFrame();
      ended += 1;
      start = index + 1;
    }
    if (ended >= max) return chunk.subarray(0, start);
    append(chunk.subarray(start));
    return chunk;
  }

  function append(part: Uint8Array<ArrayBuffer>): void {
    bytes += part.length;
    text += decoder.decode(part, { stream: true });
    if (text.length > maxText) text = `${text.slice(0, maxText)}…`;
  }

  function reportFrame(): void {
    const frame = text.trim();
    lineFeeds = 0;
    if (frame !== "") {
      count += 1;
      onFrame(frame, bytes);
    }
    text = "";
    bytes = 0;
  }

  function end(): void {
    text += decoder.decode();
    reportFrame();
  }
}
