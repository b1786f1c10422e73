import type { ProxyPlugin } from "../api/plugin.js";
import { relay } from "./relay.js";
import { openAccount } from "./reservation.js";

/**
 * Reads each stream of the gateway event by event, as a budget needs it. Its events then have `usage`, `timeout.chunkMs`
 * bounds its silences, and the key is searched in the whole stream, even if it is split over events. It takes two to three
 * times the CPU of a stream that the platform passes on.
 *
 * @example
 * ```ts
 * createProxy<Env>({ ...options, timeout: { chunkMs: 20_000 }, plugins: [readStreams()] });
 * ```
 */
export function readStreams(): ProxyPlugin {
  return { streamReader: { readStream: relay, openAccount } };
}
