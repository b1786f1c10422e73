import { isolate } from "./isolate.js";

/** A list of subscribers. */
export interface Listeners<Args extends readonly unknown[]> {
  /** Adds a listener. Returns a function that removes it. A listener that is added twice is called twice. */
  subscribe(listener: (...args: Args) => void): () => void;
  /**
   * Calls each listener, in the order of their subscriptions. One that is added meanwhile is not called, and one that is
   * removed meanwhile is called no more. An error that one throws is reported as uncaught.
   */
  notify(...args: Args): void;
}

/**
 * Creates a list of subscribers. Adding and removing one costs the same, whatever their number.
 *
 * @param onUse called before the first subscription. May return a function, which is called after the last subscriber
 * has left
 */
export function createListeners<Args extends readonly unknown[]>(
  onUse?: () => (() => void) | undefined,
): Listeners<Args> {
  const listeners = new Set<(...args: Args) => void>();
  let endUse: (() => void) | undefined;
  return {
    subscribe(listener) {
      // wrapped: a listener that is added twice is called twice
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
