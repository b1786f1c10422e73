import { idle } from "../base/clock.js";
import type { SessionOptions } from "./session.js";

/** Most questions in a row: another tab may write meanwhile. */
const MOST_TRIES = 3;

/** Parts that settling needs. */
type SettlingOptions = Pick<SessionOptions, "client" | "wire" | "replica">;

/**
 * Creates the question to the server for the case that two tabs of a browser have written one record: which value is the
 * newest. One question at a time, and none where news has come meanwhile. After a failure the next news settles it.
 *
 * @param signalOf returns the signal of the sync as it is now
 */
export function createSettling(
  session: () => SettlingOptions,
  signalOf: () => AbortSignal,
): (version: number, afterMs: number) => void {
  let from = Number.POSITIVE_INFINITY;
  let isAsking = false;
  return (version, afterMs) => {
    from = Math.min(from, version);
    if (isAsking) return;
    isAsking = true;
    settle(afterMs)
      .catch(() => {})
      .finally(() => {
        isAsking = false;
        from = Number.POSITIVE_INFINITY;
      });
  };

  async function settle(afterMs: number): Promise<void> {
    const { client, wire, replica } = session();
    const signal = signalOf();
    if (afterMs > 0) await idle(client.clock).sleep(afterMs, signal);
    for (let tries = 0; tries < MOST_TRIES && replica.isUnsure() && !signal.aborted; tries += 1) {
      const asked = { at: replica.now(), isStored: true };
      const { records } = await wire.read(replica.place.id, { since: from - 1 });
      if (!signal.aborted) await replica.take(records, asked);
    }
  }
}
