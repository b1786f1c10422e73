import type { Clock } from "@sluice/core";
import { createValue } from "./value.js";

/** The longest delay that a timer takes. */
const LONGEST_TIMER_MS = 2_147_483_647;

/** Says if the page plays a lost connection. */
export const isCut = createValue(false);

let cable = new AbortController();

/** Fetches, unless the connection is cut; a cut ends what is under way as a lost network would. */
export async function fetchUnlessCut(request: Request): Promise<Response> {
  if (isCut.getSnapshot()) throw new TypeError("Failed to fetch");
  return globalThis.fetch(request, { signal: AbortSignal.any([request.signal, cable.signal]) });
}

/** Cuts the connection of the client for a while. */
export function cutConnection(ms: number): void {
  isCut.set(true);
  cable.abort(new TypeError("network error"));
  cable = new AbortController();
  setTimeout(() => isCut.set(false), ms);
}

/** Ends the wait of a call that is about to be repeated. */
const waits = new Map<string, () => void>();
/** The call whose `retry` event came last: the client waits right after it. */
let waiting: string | undefined;

/** Notes that a call waits for its next attempt. */
export function noteRetry(callId: string): void {
  waiting = callId;
}

/** Sends the next attempt of a call at once. */
export function retryNow(callId: string): void {
  waits.get(callId)?.();
}

/** The clock of the client: the platform's own, but `retryNow` ends the wait before an attempt. */
export const retryClock: Clock = {
  now: () => performance.now(),
  sleep(ms, signal) {
    const callId = waiting;
    waiting = undefined;
    return new Promise<void>((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const abort = () => end(() => reject(signal?.reason));
      const timer = setTimeout(() => end(resolve), Math.min(ms, LONGEST_TIMER_MS));
      signal?.addEventListener("abort", abort, { once: true });
      if (callId !== undefined) waits.set(callId, () => end(resolve));
      function end(settle: () => void): void {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        if (callId !== undefined) waits.delete(callId);
        settle();
      }
    });
  },
};
