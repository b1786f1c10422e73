import { type Clock, openSpan } from "../base/clock.js";
import type { Connection } from "./send.js";

/** A client. Its copies share its listeners, and so its waits. */
type Waiting = Pick<Connection, "clock" | "listeners">;

/** The functions that end the waits of each client, with the id of the call that waits. */
const waits = new WeakMap<object, Map<() => void, string>>();

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
export function retryNow({ listeners }: Waiting, callId?: string): boolean {
  const own = waits.get(listeners);
  const found = [...(own ?? [])].filter(([, id]) => callId === undefined || id === callId);
  for (const [end] of found) {
    // a wait ends only once
    own?.delete(end);
    end();
  }
  return found.length > 0;
}

/**
 * Creates the clock for the waits between the attempts of one call. `retryNow` ends these waits.
 *
 * @param callId id of the call, as its events have it
 */
export function createRetryClock({ clock, listeners }: Waiting, callId: string): Clock {
  const own = waits.get(listeners) ?? new Map<() => void, string>();
  waits.set(listeners, own);
  return {
    now: () => clock.now(),
    async sleep(ms, signal) {
      const wait = openSpan(clock, signal, Number.POSITIVE_INFINITY, () => undefined);
      // `null` marks a wait that `retryNow` has ended
      const end = () => wait.abort(null);
      own.set(end, callId);
      try {
        await clock.sleep(ms, wait.signal);
      } catch (error) {
        if (error !== null) throw error;
      } finally {
        own.delete(end);
        wait.end();
      }
    },
  };
}
