import type { Clock } from "../base/clock.js";
import { getPauses } from "./pauses.js";
import type { Connection } from "./send.js";

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
