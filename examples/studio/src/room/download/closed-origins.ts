import { createStore, systemClock } from "@sluice/core";
import { useSyncExternalStore } from "react";

let closed: ReadonlySet<string> = new Set();
const store = createStore(() => closed, { throttleMs: 0, clock: systemClock });

/** Notes that the server at `origin` lets no other page read its files. */
export function noteClosed(origin: string): void {
  closed = new Set([...closed, origin]);
  store.flush();
}

/** Whether the server at `origin` is one of those, as far as this page has met it. */
export function useIsClosed(origin: string): boolean {
  return useSyncExternalStore(store.subscribe, store.getSnapshot).has(origin);
}
