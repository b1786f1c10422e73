import { useSyncExternalStore } from "react";
import { createPageStore } from "../../store.js";

let closed: ReadonlySet<string> = new Set();
const store = createPageStore(() => closed);

/** Notes that the server at `origin` lets no other page read its files. */
export function noteClosed(origin: string): void {
  closed = new Set([...closed, origin]);
  store.flush();
}

/** Whether the server at `origin` is one of those, as far as this page has met it. */
export function useIsClosed(origin: string): boolean {
  return useSyncExternalStore(store.subscribe, store.getSnapshot).has(origin);
}
