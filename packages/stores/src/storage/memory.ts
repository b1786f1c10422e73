import type { RecordStorage, StorageLock } from "@sluice/core";
import { createTextTable, stringifyRecords } from "./record-texts.js";

/** Creates the storage that `memoryStorage` returns. */
export function openMemoryStorage(): RecordStorage {
  const table = createTextTable();
  const write: RecordStorage["write"] = async (collection, changes) =>
    table.change(collection, stringifyRecords(changes));
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
    read: async (collection) => table.read(collection),
    async clear(collection) {
      for (const [name, texts] of table.listRemovals(collection)) table.change(name, texts);
    },
    write,
    subscribe: table.subscribe,
  };
}
