import type { RecordStorage, StorageLock } from "@sluice/core";
import { isolate } from "@sluice/core/internal";
import { isWithin, type RecordTexts, recordsOf, textsOf } from "./texts.js";

/**
 * Creates a storage that lasts as long as the page: for tests, and for pages that may not store anything. Stores that
 * share it behave like tabs: `watch` reports every write, also the watcher's own.
 *
 * @example
 * ```ts
 * const storage = memoryStorage();
 * await storage.write("notes", new Map([["a", { text: "Hello" }]]));
 * await storage.read("notes"); // Map { "a" => { text: "Hello" } }
 * ```
 */
export function memoryStorage(): RecordStorage {
  const collections = new Map<string, Map<string, string>>();
  const watchers = new Set<(collection: string, texts: RecordTexts) => void>();

  /** Their holders, by name. */
  const locks = new Map<string, StorageLock>();
  return {
    async lock(name) {
      if (locks.has(name)) return undefined;
      const isHeld = () => locks.get(name) === lock;
      const lock: StorageLock = {
        async write(collection, changes) {
          if (!isHeld()) throw new Error(`the lock "${name}" was given back`);
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
      return recordsOf(collections.get(collection) ?? []);
    },
    async drop(collection) {
      for (const [name, kept] of collections) {
        if (!isWithin(collection, name)) continue;
        collections.delete(name);
        report(name, new Map([...kept.keys()].map((key) => [key, null])));
      }
    },
    write,
    watch(collection, listener) {
      const notify = (written: string, texts: RecordTexts) => {
        if (written === collection) listener(recordsOf(texts));
      };
      watchers.add(notify);
      return () => void watchers.delete(notify);
    },
  };

  async function write(collection: string, changes: ReadonlyMap<string, unknown>): Promise<void> {
    const texts = textsOf(changes);
    const kept = collections.get(collection) ?? new Map<string, string>();
    collections.set(collection, kept);
    for (const [key, text] of texts) {
      if (text === null) kept.delete(key);
      else kept.set(key, text);
    }
    report(collection, texts);
  }

  function report(collection: string, texts: RecordTexts): void {
    // after the write, because a subscriber may write, too
    queueMicrotask(() => {
      for (const notify of watchers) isolate(() => notify(collection, texts));
    });
  }
}
