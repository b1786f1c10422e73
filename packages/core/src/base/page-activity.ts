/** Reason for a page not to poll: it is hidden or offline. */
export type Absence = "hidden" | "offline";

/** Visibility and connection of a page. */
export interface Presence {
  /** Reason not to poll now; undefined while the page is visible and online. */
  readonly absence: Absence | undefined;
  /** Calls `listener` when `absence` may have changed. Returns a function that ends the subscription. */
  readonly subscribe: (listener: () => void) => () => void;
}

/**
 * Returns the activity of this page. Servers and workers always count as visible and online.
 *
 * @param isCutOff returns true if the last request reached no server. The page is offline only if the browser has no
 *   network, too: a server on this machine answers without one.
 */
export function createPagePresence(isCutOff: () => boolean): Presence {
  return {
    get absence() {
      if (globalThis.navigator?.onLine === false && isCutOff()) return "offline";
      return globalThis.document?.visibilityState === "hidden" ? "hidden" : undefined;
    },
    subscribe(listener) {
      const stopped = new AbortController();
      const { signal } = stopped;
      const { addEventListener: listen, document } = globalThis as Partial<typeof globalThis>;
      // not `offline`: the next request finds out
      listen?.("online", listener, { signal });
      document?.addEventListener("visibilitychange", listener, { signal });
      return () => stopped.abort();
    },
  };
}
