import type { Store } from "@sluice/core";
import { createPageStore } from "../store.js";
import { recall, recallAll, remember } from "../stored.js";

/** A list that this browser keeps, the newest first; what another tab puts into it is here too. */
export interface KeptList<Item extends { readonly id: string }> extends Store<readonly Item[]> {
  readonly add: (item: Item) => void;
  readonly remove: (id: string) => void;
}

interface KeptListOptions<Item> {
  readonly isItem: (kept: unknown) => kept is Item;
  /** When an item came; Unix milliseconds. */
  readonly timeOf: (item: Item) => number;
  /** Of more than these the oldest are left out. */
  readonly most: number;
}

/** Opens the list that is kept under `name`, each item by itself: two tabs that write at once lose nothing. */
export function createKeptList<Item extends { readonly id: string }>(
  name: string,
  { isItem, timeOf, most }: KeptListOptions<Item>,
): KeptList<Item> {
  const prefix = `${name}/`;
  const items = new Map(
    [...recallAll(prefix)].flatMap(([key, text]) => {
      const item = read(text);
      return item ? [[key, item] as const] : [];
    }),
  );
  const store = createPageStore(newestFirst);
  addEventListener("storage", ({ key }) => {
    // no key: all of it was cleared
    if (key === null) items.clear();
    else if (key.startsWith(prefix)) hear(key);
    store.flush();
  });

  return {
    getSnapshot: store.getSnapshot,
    subscribe: store.subscribe,
    add(item) {
      put(prefix + item.id, item);
      for (const old of newestFirst().slice(most)) put(prefix + old.id, undefined);
      store.flush();
    },
    remove(id) {
      put(prefix + id, undefined);
      store.flush();
    },
  };

  function newestFirst(): readonly Item[] {
    return [...items.values()].sort((a, b) => timeOf(b) - timeOf(a));
  }

  function put(key: string, item: Item | undefined): void {
    if (item) items.set(key, item);
    else items.delete(key);
    remember(key, item && JSON.stringify(item));
  }

  function hear(key: string): void {
    const item = read(recall(key));
    if (item) items.set(key, item);
    else items.delete(key);
  }

  /** A storage holds what anybody put there. */
  function read(text: string | undefined): Item | undefined {
    try {
      const kept: unknown = JSON.parse(text ?? "null");
      return isItem(kept) ? kept : undefined;
    } catch {
      return undefined;
    }
  }
}
