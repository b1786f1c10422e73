import { isolate } from "./isolate.js";

/** A list of subscribers. */
export interface Listeners<Args extends readonly unknown[]> {
  /** Adds a listener. Returns a function that removes it. A listener added twice runs twice. */
  subscribe(listener: (...args: Args) => void): () => void;
  /**
   * Calls the listeners in the order of their subscriptions. Skips listeners that are added or removed during the call.
   * Reports their errors as uncaught.
   */
  notify(...args: Args): void;
}

/**
 * Creates a list of subscribers. Adding and removing take constant time.
 *
 * @param onUse called before the first subscription. May return a function, which is called after the last subscriber
 *   has left
 */
export function createListeners<Args extends readonly unknown[]>(
  onUse?: () => (() => void) | undefined,
): Listeners<Args> {
  const listeners = new Set<(...args: Args) => void>();
  let endUse: (() => void) | undefined;
  return {
    subscribe(listener) {
      // wrapped, so that a listener added twice runs twice
      const entry = (...args: Args) => listener(...args);
      if (listeners.size === 0) endUse = onUse?.();
      listeners.add(entry);
      return () => {
        if (listeners.delete(entry) && listeners.size === 0) endUse?.();
      };
    },
    notify(...args) {
      for (const listener of [...listeners]) if (listeners.has(listener)) isolate(() => listener(...args));
    },
  };
}
