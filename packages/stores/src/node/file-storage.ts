import { watch } from "node:fs";
import type { StorageLock } from "@sluice/core";
import { type ChatStorage, storesChats } from "../chat/storages.js";
import { createTextTable, type RecordTexts, stringifyRecords } from "../storage/record-texts.js";
import { createFileLocks } from "./file-locks.js";
import { type Line, openJournal } from "./journal.js";

/**
 * Creates a storage in one file, for batches or chats of scripts in Node and Deno. The file is an append-only journal of
 * JSON lines: the cost of a write does not depend on the number of records, and a crash at any byte loses no stored record.
 * A write resolves when the data is on the disk. All records are also held in memory.
 *
 * Several processes may use the file. A lock belongs to one process until it releases the lock, ends or crashes. The file
 * must be on a local disk, because locks of network file systems are not reliable. Delete the file to delete its records.
 *
 * If the file is not a journal, or has another encoding, all calls reject and the file does not change.
 *
 * @param path path of the file. Its folder must exist. The first use creates the file
 * @example
 * ```ts
 * import { createBatch } from "@sluice/batch";
 * import { fileStorage } from "@sluice/stores/node";
 *
 * const storage = fileStorage("reefs.jsonl");
 * const requests = [{ image: { model: "gamma-image-5-0-260128", prompt: "A reef at dawn" } }] as const;
 * await createBatch(client, requests, { id: "reefs", storage }).run();
 * ```
 */
export function fileStorage(path: string): ChatStorage {
  const journal = openJournal(path);
  const locks = createFileLocks(journal, catchUp);
  const table = createTextTable();
  let stopWatching: (() => void) | undefined;
  let isRead = false;

  return {
    ...storesChats,
    async read(collection) {
      await catchUp();
      return table.read(collection);
    },
    // async, so that a record without JSON rejects instead of throwing
    write: async (collection, changes) => write(collection, stringifyRecords(changes)),
    async clear(collection) {
      await catchUp();
      for (const [name, texts] of table.listRemovals(collection)) await write(name, texts);
    },
    subscribe(collection, listener, onRefusal = () => {}) {
      const stop = table.subscribe(collection, listener);
      if (!stopWatching) startWatching(onRefusal);
      return () => {
        stop();
        if (table.isWatched()) return;
        stopWatching?.();
        stopWatching = undefined;
      };
    },
    async lock(name): Promise<StorageLock | undefined> {
      const lock = await locks.acquire(name);
      return (
        lock && {
          async write(collection, changes) {
            const texts = stringifyRecords(changes);
            await write(collection, texts, { lock: name, by: lock.token });
            await catchUp();
            if (!locks.isHeld(name, lock.token))
              throw new Error(`${path}: another process has taken over "${name}"`);
          },
          release: lock.release,
        }
      );
    },
  };

  async function write(collection: string, texts: RecordTexts, lockFields: Line = {}): Promise<void> {
    // reads first, so that a file that is not a journal never changes
    if (!isRead) await catchUp();
    await journal.append({ ...lockFields, collection, records: [...texts] });
    if (table.isWatched()) await catchUp();
  }

  async function catchUp(): Promise<void> {
    await journal.readNew((line) => {
      if (locks.apply(line)) apply(line);
    });
    isRead = true;
  }

  function apply({ collection, records }: Line): void {
    if (typeof collection === "string" && Array.isArray(records))
      table.change(collection, new Map(records as [string, string | null][]));
  }

  function startWatching(onRefusal: (error: unknown) => void): void {
    let isStopped = false;
    stopWatching = () => {
      isStopped = true;
    };
    // the first read creates the file
    catchUp()
      .then(() => {
        if (isStopped) return;
        const watcher = watch(path, { persistent: false }, () => {
          void catchUp()
            .catch(onRefusal)
            .finally(() => watcher.unref());
        });
        // Deno ignores `persistent` and refs the watcher after each event, so that a script would never exit
        watcher.unref();
        watcher.on("error", onRefusal);
        stopWatching = () => watcher.close();
        // reads the lines that were written before the watcher started
        return catchUp();
      })
      .catch(onRefusal);
  }
}
