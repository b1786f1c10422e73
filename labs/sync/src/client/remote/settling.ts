import { createBackoff, toIdleClock } from "@sluice/core/extend";
import { stateNameOf } from "./place.js";
import type { SessionOptions } from "./session.js";
import { type Doubts, newDoubtsKey } from "./sync-state.js";

/** Waits between the questions, and most of them in a row: another tab may write meanwhile. */
const WAITS = { limit: 10, firstMs: 1000, longestMs: 60_000 };

/** Parts that settling needs. */
type SettlingOptions = Pick<SessionOptions, "client" | "local" | "wire" | "replica">;

/**
 * Creates the question to the server for the case that two tabs of a browser have written one record: which value is the
 * newest. One question at a time, and none where news has come meanwhile. Until it is settled, the doubts are noted in the
 * local storage: the next tab that follows settles those of a tab that was closed.
 *
 * @param signalOf returns the signal of the sync as it is now
 */
export function createSettling(
  session: () => SettlingOptions,
  signalOf: () => AbortSignal,
): (doubts: Doubts, afterMs: number) => void {
  const open = new Map<string, number>();
  let noteKey = newDoubtsKey();
  let isAsking = false;
  return (doubts, afterMs) => {
    if (doubts.size === 0) return;
    forgetSettled();
    for (const [key, version] of doubts) open.set(key, Math.min(version, open.get(key) ?? version));
    note();
    if (isAsking) return;
    isAsking = true;
    const signal = signalOf();
    settle(afterMs, signal)
      .catch(() => {})
      .finally(() => {
        isAsking = false;
        if (signal.aborted) return leave();
        forgetSettled();
        note();
      });
  };

  async function settle(afterMs: number, signal: AbortSignal): Promise<void> {
    const { client, wire, replica } = session();
    const clock = toIdleClock(client.clock);
    const backoff = createBackoff({ clock, random: client.random }, WAITS);
    if (afterMs > 0) await clock.sleep(afterMs, signal);
    while (isOpen() && !signal.aborted) {
      const failure = await ask().catch((error: unknown) => error);
      if (isOpen()) await backoff.wait(failure, { signal });
    }

    async function ask(): Promise<void> {
      const asked = { at: replica.now(), isStored: true };
      const { records } = await wire.read(replica.place.id, { since: Math.min(...open.values()) - 1 });
      if (!signal.aborted) await replica.take(records, asked);
    }
  }

  function isOpen(): boolean {
    return [...open.keys()].some(session().replica.isUnsure);
  }

  function forgetSettled(): void {
    for (const key of open.keys()) if (!session().replica.isUnsure(key)) open.delete(key);
  }

  function note(): void {
    const { client, local, replica } = session();
    const noted = open.size > 0 ? Object.fromEntries(open) : undefined;
    local.write(stateNameOf(client, replica.place), new Map([[noteKey, noted]])).catch(() => {});
  }

  /** Leaves the doubts to those who follow next. */
  function leave(): void {
    open.clear();
    noteKey = newDoubtsKey();
  }
}
