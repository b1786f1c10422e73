import type { Store } from "@sluice/core";

/** State of this page with subscribers, for `useSyncExternalStore`. */
export interface PageStore<State> extends Store<State> {
  /** Reads the state again and notifies every subscriber. */
  readonly flush: () => void;
}

/** Creates a store whose state `read` returns; `flush` publishes a change. */
export function createPageStore<State>(read: () => State): PageStore<State> {
  const listeners = new Set<() => void>();
  let state = read();
  return {
    getSnapshot: () => state,
    subscribe(listener) {
      // wrapped, so that a listener that subscribes twice is notified until both have ended
      const own = () => listener();
      listeners.add(own);
      return () => listeners.delete(own);
    },
    flush() {
      state = read();
      for (const notify of [...listeners]) notify();
    },
  };
}
