/** Reason for a page not to poll: it is hidden or offline. */
export type Absence = "hidden" | "offline";

/** Visibility and connection of a page. */
export interface Presence {
  /** Reason not to poll now; undefined while the page is visible and online. */
  readonly absence: Absence | undefined;
  /** Calls `listener` when `absence` may have changed. Returns a function that ends the subscription. */
  readonly subscribe: (listener: () => void) => () => void;
}

/** The activity of this page. Servers and workers always count as visible and online. */
export const pagePresence: Presence = {
  get absence() {
    if (globalThis.navigator?.onLine === false) return "offline";
    return globalThis.document?.visibilityState === "hidden" ? "hidden" : undefined;
  },
  subscribe(listener) {
    const stopped = new AbortController();
    const { signal } = stopped;
    const { addEventListener: listen, document } = globalThis as Partial<typeof globalThis>;
    listen?.("online", listener, { signal });
    listen?.("offline", listener, { signal });
    document?.addEventListener("visibilitychange", listener, { signal });
    return () => stopped.abort();
  },
};
