import { type Clock, onAbort, unlessAborted } from "../base/clock.js";

/** The waits between the attempts of all calls of a client. */
export interface Pauses {
  /** Returns the clock of the waits of one call. */
  readonly clockOf: (callId: string) => Clock;
  /** Ends the waits of a call, or of all calls. Returns false if there were none. */
  readonly end: (callId?: string) => boolean;
}

/** Creates the waits. Each lasts as long as on `clock`, unless it is ended. */
export function createPauses(clock: Clock): Pauses {
  const ends = new Map<() => void, string>();
  return { clockOf, end };

  function clockOf(callId: string): Clock {
    return { now: () => clock.now(), sleep: (ms, signal) => sleep(callId, ms, signal) };
  }

  async function sleep(callId: string, ms: number, signal: AbortSignal | undefined): Promise<void> {
    const early = new AbortController();
    const ignoreAbort = onAbort(signal, () => early.abort(signal?.reason));
    // `null` where nothing reads the reason
    const endNow = () => early.abort(null);
    ends.set(endNow, callId);
    try {
      await unlessAborted(clock.sleep(ms, early.signal), early.signal);
    } catch (error) {
      if (error !== null) throw error;
    } finally {
      ends.delete(endNow);
      ignoreAbort();
    }
  }

  function end(callId?: string): boolean {
    const found = [...ends].filter(([, id]) => callId === undefined || id === callId);
    for (const [endNow] of found) {
      // a wait is ended once
      ends.delete(endNow);
      endNow();
    }
    return found.length > 0;
  }
}
