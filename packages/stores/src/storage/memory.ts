import type { RecordStorage, StorageLock } from "@sluice/core";
import { isolate } from "@sluice/core/extend";
import { isWithin, parseRecords, type RecordTexts, stringifyRecords } from "./record-texts.js";

/** Creates the storage that `memoryStorage` returns. */
export function openMemoryStorage(): RecordStorage {
  const collections = new Map<string, Map<string, string>>();
  const watchers = new Set<(collection: string, texts: RecordTexts) => void>();

  /** Held locks by name. */
  const locks = new Map<string, StorageLock>();
  return {
    async lock(name) {
      if (locks.has(name)) return undefined;
      const isHeld = () => locks.get(name) === lock;
      const lock: StorageLock = {
        async write(collection, changes) {
          if (!isHeld()) throw new Error(`the lock "${name}" was released`);
          await write(collection, changes);
        },
        async release() {
          if (isHeld()) locks.delete(name);
        },
      };
      locks.set(name, lock);
      return lock;
    },
    async read(collection) {
      return parseRecords(collections.get(collection) ?? []);
    },
    async drop(collection) {
      for (const [name, stored] of collections) {
        if (!isWithin(collection, name)) continue;
        collections.delete(name);
        report(name, new Map([...stored.keys()].map((key) => [key, null])));
      }
    },
    write,
    watch(collection, listener) {
      const notify = (written: string, texts: RecordTexts) => {
        if (written === collection) listener(parseRecords(texts));
      };
      watchers.add(notify);
      return () => void watchers.delete(notify);
    },
  };

  async function write(collection: string, changes: ReadonlyMap<string, unknown>): Promise<void> {
    const texts = stringifyRecords(changes);
    const stored = collections.get(collection) ?? new Map<string, string>();
    collections.set(collection, stored);
    for (const [key, text] of texts) {
      if (text === null) stored.delete(key);
      else stored.set(key, text);
    }
    report(collection, texts);
  }

  function report(collection: string, texts: RecordTexts): void {
    // in a microtask, because a watcher may write, too
    queueMicrotask(() => {
      for (const notify of watchers) isolate(() => notify(collection, texts));
    });
  }
}
