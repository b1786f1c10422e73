import type { Next, Readers } from "@sluice/durable/internal";
import { bytesOf } from "./writing.js";

/** A stream of events to one client. */
export interface EventStream {
  readonly response: Response;
  /** Sends an event as soon as the client takes it. Of those that are passed, the oldest are dropped for a slow one. */
  push(event: string): void;
  /** Ends the stream once the client has taken what it was sent. */
  end(): void;
}

/** Longest silence of a stream, in milliseconds. */
export const BEAT_MS = 15_000;
/** Time after which a stream ends, in milliseconds: the client has to sign in again to read on. */
const FOLLOW_MS = 3_600_000;
/** Most bytes of passed records that wait for one client. */
const PASSED_BYTES = 256 * 1024;

/** Start of an event with records that are passed, and not kept. */
export const PASSED = "event: passed\n";
const encoder = new TextEncoder();

/**
 * Opens a stream of events.
 *
 * @param first its first event
 * @param more called when the client has taken everything; it may push
 * @param left called once, when the stream is over
 * @throws {Refusal} 429 `too_many_readers`
 */
export function openEventStream(
  readers: Readers,
  signal: AbortSignal,
  { first, more, left }: { readonly first?: string; readonly more: () => void; readonly left: () => void },
): EventStream {
  const queue = first === undefined ? [] : [first];
  const endsAt = Date.now() + FOLLOW_MS;
  let isOver = false;
  return { response: readers.open(next, signal, left), push, end };

  function next(): Next {
    if (queue.length === 0 && !isOver && Date.now() < endsAt) more();
    const event = queue.shift();
    if (event !== undefined) return encoder.encode(event);
    return isOver || Date.now() >= endsAt ? "end" : "wait";
  }

  function push(event: string): void {
    queue.push(event);
    const passed = queue.filter(isPassed);
    let bytes = passed.reduce((sum, text) => sum + bytesOf(text), 0);
    for (const oldest of passed.slice(0, -1)) {
      if (bytes <= PASSED_BYTES) break;
      bytes -= bytesOf(oldest);
      queue.splice(queue.indexOf(oldest), 1);
    }
    readers.wake();
  }

  function end(): void {
    isOver = true;
    readers.wake();
  }
}

const isPassed = (event: string) => event.startsWith(PASSED);
