/** Reason why a page does not poll: it is hidden or offline. */
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
 * @param isCutOff returns true if the last request did not reach a server. The page is offline only if the browser also
 *   reports no network, because a local server responds without one.
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
      // without `offline`: the next request notices it
      listen?.("online", listener, { signal });
      document?.addEventListener("visibilitychange", listener, { signal });
      return () => stopped.abort();
    },
  };
}
