/** Why a page should leave others alone: nobody sees it, or nobody can be reached. */
export type Absence = "hidden" | "offline";

/** Whether a page is seen and connected. */
export interface Presence {
  readonly absence: Absence | undefined;
  /** Calls `listener` when it may have changed; returns how to stop. */
  readonly subscribe: (listener: () => void) => () => void;
}

/** The page that this runs in; what is no page (a server, a worker) is always there. */
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
