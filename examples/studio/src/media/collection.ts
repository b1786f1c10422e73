import { atom, onMount, type ReadableAtom } from "nanostores";
import { noteStorageFailure, storage } from "../client.js";

/** Fields of every kept item. */
interface Kept {
  readonly id: string;
  /** Unix milliseconds. */
  readonly at: number;
}

/** A list that this browser keeps between visits, newest first, the same in all tabs. */
export interface Collection<Item extends Kept> {
  readonly items: ReadableAtom<readonly Item[]>;
  /** Adds an item, or replaces the one with its id. */
  readonly put: (item: Item) => void;
  readonly remove: (id: string) => void;
}

/** Names of the lists with items that could not be written. */
export const unsavedLists = atom<ReadonlySet<string>>(new Set());

/** Waits before an item is written again, in milliseconds. */
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;

/** Creates the list of a name; `isItem` checks what was kept by an older version. */
export function createCollection<Item extends Kept>(
  name: string,
  isItem: (kept: unknown) => kept is Item,
): Collection<Item> {
  const known = new Map<string, Item>();
  const items = atom<readonly Item[]>([]);
  // what changed here before the storage was read is newer than what it has
  const touched = new Set<string>();
  const due = new Map<string, Item | undefined>();
  let isRead = false;
  let isWriting = false;
  onMount(items, read);
  return { items, put: (item) => change(item.id, item), remove: (id) => change(id, undefined) };

  function change(id: string, item: Item | undefined): void {
    touched.add(id);
    take(new Map([[id, item]]));
    due.set(id, item);
    void write();
  }

  /** Writes what is due, each item alone: one may be too large. What fails is tried again while the page lives. */
  async function write(): Promise<void> {
    if (isWriting) return;
    isWriting = true;
    for (let waitMs = FIRST_WAIT_MS; due.size > 0; waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS)) {
      for (const [id, item] of [...due])
        try {
          await storage.write(name, new Map([[id, item]]));
          if (due.get(id) === item) due.delete(id);
        } catch {
          unsavedLists.set(new Set([...unsavedLists.get(), name]));
        }
      if (unsavedLists.get().has(name) && due.size > 0)
        await new Promise((resolve) => setTimeout(resolve, waitMs));
    }
    isWriting = false;
    unsavedLists.set(new Set([...unsavedLists.get()].filter((other) => other !== name)));
  }

  function read(): void {
    if (isRead) return;
    isRead = true;
    storage.watch(name, take, noteStorageFailure);
    storage
      .read(name)
      .then((records) => take(new Map([...records].filter(([id]) => !touched.has(id)))))
      .catch(noteStorageFailure);
  }

  function take(records: ReadonlyMap<string, unknown>): void {
    for (const [id, record] of records)
      if (isItem(record)) known.set(id, record);
      else known.delete(id);
    items.set([...known.values()].sort((a, b) => b.at - a.at));
  }
}

/** Links live for a day or so; what is kept for much longer is of no use. */
const OLDEST_MS = 7 * 24 * 3_600_000;

/** Removes the items whose links have long expired. */
export function forgetOld<Item extends Kept>({ items, remove }: Collection<Item>): void {
  for (const { id, at } of items.get()) if (at < Date.now() - OLDEST_MS) remove(id);
}

/** Checks the fields that every kept item has, and some texts. */
export function hasTexts(kept: unknown, ...names: readonly string[]): kept is Record<string, unknown> & Kept {
  if (typeof kept !== "object" || kept === null) return false;
  const record = kept as Record<string, unknown>;
  return (
    typeof record["at"] === "number" && ["id", ...names].every((name) => typeof record[name] === "string")
  );
}
