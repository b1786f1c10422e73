import { createStore, type Store, systemClock } from "@sluice/core";
import { recall, remember } from "../stored.js";

/** A list that this browser keeps, the newest first; what another tab puts into it is here too. */
export interface KeptList<Item extends { readonly id: string }> extends Store<readonly Item[]> {
  readonly add: (item: Item) => void;
  readonly remove: (id: string) => void;
}

/** Opens the list that is kept under `key`; of more than `most` the oldest are left out. */
export function createKeptList<Item extends { readonly id: string }>(
  key: string,
  isItem: (kept: unknown) => kept is Item,
  most: number,
): KeptList<Item> {
  let items = read();
  const store = createStore(() => items, { throttleMs: 0, clock: systemClock });
  addEventListener("storage", (event) => {
    if (event.key !== key) return;
    items = read();
    store.flush();
  });

  return {
    getSnapshot: store.getSnapshot,
    subscribe: store.subscribe,
    add: (item) => set((known) => [item, ...known].slice(0, most)),
    remove: (id) => set((known) => known.filter((item) => item.id !== id)),
  };

  function set(change: (known: readonly Item[]) => readonly Item[]): void {
    // another tab may have written meanwhile; where nothing is kept, what is shown is all there is
    items = change(recall(key) === undefined ? items : read());
    remember(key, JSON.stringify(items));
    store.flush();
  }

  /** A storage holds what anybody put there. */
  function read(): readonly Item[] {
    try {
      const kept: unknown = JSON.parse(recall(key) ?? "[]");
      return Array.isArray(kept) ? kept.filter(isItem) : [];
    } catch {
      return [];
    }
  }
}
