import type { RecordStorage } from "@sluice/core";
import { markRefusal } from "@sluice/core/internal";
import { recordsOf, textsOf } from "./texts.js";

/** The part of `localStorage` and `sessionStorage` that `webStorage` needs. */
export interface WebStorage {
  /** Number of items. */
  readonly length: number;
  /** Returns the name of an item by its position, from 0. */
  key(index: number): string | null;
  /** Returns the text of an item; null where there is none. */
  getItem(name: string): string | null;
  /** Writes the text of an item. */
  setItem(name: string, value: string): void;
  /** Removes an item. */
  removeItem(name: string): void;
}

const VERSION = 1;

/** Creates the storage that `webStorage` returns. */
export function openWebStorage(storage: WebStorage | (() => WebStorage), prefix = "sluice"): RecordStorage {
  const reach = () => {
    try {
      const area = typeof storage === "function" ? storage() : storage;
      // null in some WebViews; in other browsers only the first use is refused
      void area.length;
      return area;
    } catch (error) {
      throw markRefusal("web-storage", error);
    }
  };
  // JSON, because the JSON of one array is never the beginning of another's
  const beginningOf = (collection: string) => JSON.stringify([prefix, VERSION, collection]);

  return {
    async read(collection) {
      const beginning = beginningOf(collection);
      const area = reach();
      const names = Array.from({ length: area.length }, (_, index) => area.key(index) ?? "");
      return recordsOf(
        names
          .filter((name) => name.startsWith(beginning))
          .map((name) => [name.slice(beginning.length), area.getItem(name)] as const),
      );
    },
    async write(collection, changes) {
      const items = [...textsOf(changes)].map(
        ([key, text]) => [beginningOf(collection) + key, text] as const,
      );
      writeAll(reach(), items);
    },
    async drop(collection) {
      const area = reach();
      const below = beginningOf(`${collection}/`).slice(0, -2);
      const names = Array.from({ length: area.length }, (_, index) => area.key(index) ?? "");
      for (const name of names)
        if (name.startsWith(beginningOf(collection)) || name.startsWith(below)) area.removeItem(name);
    },
    watch(collection, listener) {
      const beginning = beginningOf(collection);
      const stopped = new AbortController();
      const { addEventListener: listen } = globalThis as Partial<typeof globalThis>;
      listen?.(
        "storage",
        ({ key: name, newValue, storageArea }) => {
          if (!name?.startsWith(beginning) || storageArea !== reach()) return;
          const changes = recordsOf([[name.slice(beginning.length), newValue]]);
          if (changes.size > 0) listener(changes);
        },
        { signal: stopped.signal },
      );
      return () => stopped.abort();
    },
  };
}

type Items = readonly (readonly [name: string, text: string | null])[];

function writeAll(area: WebStorage, items: Items): void {
  const before: [name: string, text: string | null][] = [];
  try {
    for (const [name, text] of items) {
      before.unshift([name, area.getItem(name)]);
      put(area, name, text);
    }
  } catch (error) {
    // in reverse order: each step then returns to a state that had room
    for (const [name, text] of before) put(area, name, text);
    throw error;
  }
}

function put(area: WebStorage, name: string, text: string | null): void {
  if (text === null) area.removeItem(name);
  else area.setItem(name, text);
}
