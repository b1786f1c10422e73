import type { RecordStorage } from "@sluice/core";
import { useSyncExternalStore } from "react";

/** Fields of every item of a stored list. */
export interface StoredItem {
  readonly id: string;
  /** Creation time, in Unix milliseconds. The list is sorted by it, newest first. */
  readonly at: number;
}

/** A list that the browser stores between visits. All tabs show the same items. */
export interface StoredList<Item extends StoredItem> {
  /** Hook that returns the items, newest first. */
  readonly useItems: () => readonly Item[];
  /** Hook that returns true while an item could not be written. The list retries while the page is open. */
  readonly useIsUnsaved: () => boolean;
  /** Adds an item, or replaces the item with its id. */
  readonly put: (item: Item) => void;
  readonly remove: (id: string) => void;
}

interface StoredListOptions<Item> {
  readonly storage: RecordStorage;
  /** Name of the collection in the storage. */
  readonly name: string;
  /** Checks a stored record, which an older version of the app may have written. */
  readonly isItem: (record: unknown) => record is Item;
}

const FIRST_DELAY_MS = 1000;
const MAX_DELAY_MS = 60_000;

/** Creates a random id for an item. Pages over plain HTTP have no `randomUUID`. */
export function createItemId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (word) => word.toString(36)).join("-");
}

/**
 * Creates a list that the browser stores. Create it once, outside of components.
 *
 * @example
 * ```ts
 * interface Note extends StoredItem {
 *   readonly text: string;
 * }
 * const isNote = (record: unknown): record is Note =>
 *   typeof record === "object" && record !== null && "text" in record;
 *
 * const notes = createStoredList({ storage: indexedDBStorage(), name: "notes", isItem: isNote });
 * notes.put({ id: createItemId(), at: Date.now(), text: "Look at the sea at noon" });
 * ```
 */
export function createStoredList<Item extends StoredItem>(
  options: StoredListOptions<Item>,
): StoredList<Item> {
  const { storage, name, isItem } = options;
  const itemsById = new Map<string, Item>();
  const unwritten = new Map<string, Item | undefined>();
  // a change before the first read is newer than the record in the storage
  const changedIds = new Set<string>();
  const listeners = new Set<() => void>();
  const none: readonly Item[] = [];
  let items = none;
  let isRead = false;
  let isWriting = false;
  let isUnsaved = false;

  const change = (id: string, item: Item | undefined) => {
    changedIds.add(id);
    unwritten.set(id, item);
    apply(new Map([[id, item]]));
    void write();
  };
  return {
    useItems: () =>
      useSyncExternalStore(
        subscribe,
        () => items,
        () => none,
      ),
    useIsUnsaved: () =>
      useSyncExternalStore(
        subscribe,
        () => isUnsaved,
        () => false,
      ),
    put: (item) => change(item.id, item),
    remove: (id) => change(id, undefined),
  };

  function subscribe(listener: () => void): () => void {
    listeners.add(listener);
    if (!isRead) void read();
    return () => void listeners.delete(listener);
  }

  async function read(): Promise<void> {
    isRead = true;
    storage.subscribe(name, apply, () => {});
    const records = await storage.read(name).catch(() => new Map<string, unknown>());
    apply(new Map([...records].filter(([id]) => !changedIds.has(id))));
  }

  /** Writes each item on its own, because one item may be too large. */
  async function write(): Promise<void> {
    if (isWriting) return;
    isWriting = true;
    for (let delayMs = FIRST_DELAY_MS; unwritten.size > 0; delayMs = Math.min(2 * delayMs, MAX_DELAY_MS)) {
      let hasFailed = false;
      for (const [id, item] of [...unwritten])
        await storage.write(name, new Map([[id, item]])).then(
          () => unwritten.get(id) === item && unwritten.delete(id),
          () => {
            hasFailed = true;
          },
        );
      setUnsaved(hasFailed);
      if (hasFailed) await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
    isWriting = false;
  }

  function setUnsaved(next: boolean): void {
    isUnsaved = next;
    notify();
  }

  function apply(records: ReadonlyMap<string, unknown>): void {
    for (const [id, record] of records)
      if (isItem(record)) itemsById.set(id, record);
      else itemsById.delete(id);
    items = [...itemsById.values()].sort((a, b) => b.at - a.at);
    notify();
  }

  function notify(): void {
    for (const listener of listeners) listener();
  }
}

/** Checks the fields that every item has, and further text fields. */
export function isStoredItem(
  record: unknown,
  ...texts: readonly string[]
): record is Record<string, unknown> & StoredItem {
  if (typeof record !== "object" || record === null) return false;
  const fields = record as Record<string, unknown>;
  return (
    typeof fields["at"] === "number" && ["id", ...texts].every((name) => typeof fields[name] === "string")
  );
}
