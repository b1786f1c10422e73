import type { RecordStorage } from "@sluice/core";
import { markRefusal } from "../base/platform-limits.js";
import { parseRecords, stringifyRecords } from "./record-texts.js";

/** The methods of `localStorage` and `sessionStorage` that `webStorage` needs. */
export interface WebStorage {
  /** Number of items. */
  readonly length: number;
  /** Returns the name of an item by its position, from 0. */
  key(index: number): string | null;
  /** Returns the text of an item; null if it does not exist. */
  getItem(name: string): string | null;
  /** Writes the text of an item. */
  setItem(name: string, value: string): void;
  /** Removes an item. */
  removeItem(name: string): void;
}

const VERSION = 1;

/** Creates the records of `webStorage`: one item for each. `webStorage` adds what a chat needs. */
export function openWebStorage(storage: WebStorage | (() => WebStorage), prefix = "sluice"): RecordStorage {
  const getArea = () => {
    try {
      const area = typeof storage === "function" ? storage() : storage;
      // `area` is null in some WebViews; other browsers refuse only the first access
      void area.length;
      return area;
    } catch (error) {
      throw markRefusal("web-storage", error);
    }
  };
  // JSON, because the JSON of an array is never a prefix of another array's JSON
  const createPrefix = (collection: string) => JSON.stringify([prefix, VERSION, collection]);
  const listNames = (area: WebStorage) =>
    Array.from({ length: area.length }, (_, nth) => area.key(nth) ?? "");

  return {
    async read(collection) {
      const namePrefix = createPrefix(collection);
      const area = getArea();
      return parseRecords(
        listNames(area)
          .filter((name) => name.startsWith(namePrefix))
          .map((name) => [name.slice(namePrefix.length), area.getItem(name)] as const),
      );
    },
    async write(collection, changes) {
      const items = [...stringifyRecords(changes)].map(
        ([key, text]) => [createPrefix(collection) + key, text] as const,
      );
      writeAll(getArea(), items);
    },
    async clear(collection) {
      const area = getArea();
      // without the closing `"]`, to match every longer collection name
      const prefixBelow = createPrefix(`${collection}/`).slice(0, -2);
      for (const name of listNames(area))
        if (name.startsWith(createPrefix(collection)) || name.startsWith(prefixBelow)) area.removeItem(name);
    },
    subscribe(collection, listener) {
      const namePrefix = createPrefix(collection);
      const stopped = new AbortController();
      const { addEventListener: listen } = globalThis as Partial<typeof globalThis>;
      listen?.(
        "storage",
        ({ key: name, newValue, storageArea }) => {
          if (!name?.startsWith(namePrefix) || storageArea !== getArea()) return;
          const changes = parseRecords([[name.slice(namePrefix.length), newValue]]);
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
  const undo: [name: string, text: string | null][] = [];
  try {
    for (const [name, text] of items) {
      undo.unshift([name, area.getItem(name)]);
      put(area, name, text);
    }
  } catch (error) {
    // in reverse order, so that each step returns to a state that had enough space
    for (const [name, text] of undo) put(area, name, text);
    throw error;
  }
}

function put(area: WebStorage, name: string, text: string | null): void {
  if (text === null) area.removeItem(name);
  else area.setItem(name, text);
}
