import type { Clock } from "../base/clock.js";
import type { Connection } from "./send.js";

/** The waits between attempts of all calls of a client. */
interface Pauses {
  /** Creates the clock for the waits of one call. */
  readonly clock: (callId: string) => Clock;
  /** Ends the waits of a call, or of all calls. Returns false if no call waited. */
  readonly end: (callId?: string) => boolean;
}

/** The waits of each client. A client and its copies share their listeners and so their waits. */
const all = new WeakMap<object, Pauses>();

/** Returns the waits of a client. */
export function getPauses({ clock, listeners }: Pick<Connection, "clock" | "listeners">): Pauses {
  const pauses = all.get(listeners) ?? createPauses(clock);
  all.set(listeners, pauses);
  return pauses;
}

/**
 * Ends the wait before the next attempt of a call and sends the attempt at once. Call it when the user clicks "Try now"
 * or the network is back. It does not allow more attempts than `retry` does.
 *
 * @param callId id of the call, from its `retry` event. @default all waiting calls of this client
 * @returns false if no call waited
 * @example
 * ```ts
 * addEventListener("online", () => retryNow(client));
 * ```
 */
export function retryNow(client: Pick<Connection, "clock" | "listeners">, callId?: string): boolean {
  return getPauses(client).end(callId);
}

/**
 * Creates the clock for the waits between the attempts of one call. `retryNow` ends these waits.
 *
 * @param callId id of the call, as its events have it
 * @example
 * ```ts
 * const { callId } = openExchange(client, { kind: "upload", path: "/v1/uploads" }, { signal });
 * const clock = createRetryClock(client, callId);
 * const backoff = createBackoff({ clock, random: client.random }, { limit: 5, firstMs: 1000, longestMs: 30_000 });
 * ```
 */
export function createRetryClock(client: Pick<Connection, "clock" | "listeners">, callId: string): Clock {
  return getPauses(client).clock(callId);
}

/** Creates the waits. Each one lasts as long as on `clock`, unless `end` ends it. */
function createPauses(clock: Clock): Pauses {
  const ends = new Map<() => void, string>();
  return { clock: createClock, end };

  function createClock(callId: string): Clock {
    return { now: () => clock.now(), sleep: (ms, signal) => sleep(callId, ms, signal) };
  }

  async function sleep(callId: string, ms: number, signal: AbortSignal | undefined): Promise<void> {
    const early = new AbortController();
    const abort = () => early.abort(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener("abort", abort);
    // nothing reads this reason
    const endNow = () => early.abort(null);
    ends.set(endNow, callId);
    try {
      await clock.sleep(ms, early.signal);
    } catch (error) {
      if (error !== null) throw error;
    } finally {
      ends.delete(endNow);
      signal?.removeEventListener("abort", abort);
    }
  }

  function end(callId?: string): boolean {
    const found = [...ends].filter(([, id]) => callId === undefined || id === callId);
    for (const [endNow] of found) {
      // a wait ends only once
      ends.delete(endNow);
      endNow();
    }
    return found.length > 0;
  }
}
