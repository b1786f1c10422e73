import { useSyncExternalStore } from "react";

/** Makes a hook of a list that lasts as long as the page: a room that is left finds it again. */
export function createShelf<Item>() {
  const none: readonly Item[] = [];
  const listeners = new Set<() => void>();
  let items = none;
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  const change = (next: (before: readonly Item[]) => readonly Item[]) => {
    items = next(items);
    for (const notify of listeners) notify();
  };
  return () =>
    [
      useSyncExternalStore(
        subscribe,
        () => items,
        () => none,
      ),
      change,
    ] as const;
}
