import { watch } from "node:fs";
import type { RecordStorage, StorageLock } from "@sluice/core";
import { isolate } from "@sluice/core/internal";
import { isWithin, type RecordTexts, recordsOf, textsOf } from "../storage/texts.js";
import { createFileLocks } from "./file-locks.js";
import { type Line, openJournal } from "./journal.js";

/**
 * Creates a storage in one file, for scripts in Node and Deno: the ledger of a batch, or chats. The file is a journal of
 * JSON lines that only grows, so that a write costs the same with any number of records, and a process may be killed at
 * any byte. A write resolves when the disk has it. All records are kept in memory, too.
 *
 * Several processes may use the file. Its lock belongs to one of them until that one ends, also by a crash. The file must
 * be on a disk of this machine: the locks of network file systems can't be relied on. Delete the file to forget it.
 *
 * A file that is not a journal, also one in another encoding, rejects, and stays as it is.
 *
 * @param path path of the file; its folder must exist. It is created with the first use
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
export function fileStorage(path: string): RecordStorage {
  const journal = openJournal(path);
  const locks = createFileLocks(journal, catchUp);
  const collections = new Map<string, Map<string, string>>();
  const watchers = new Set<(collection: string, texts: RecordTexts) => void>();
  let stopWatching: (() => void) | undefined;
  let isRead = false;

  return {
    async read(collection) {
      await catchUp();
      return recordsOf(collections.get(collection) ?? []);
    },
    // a record without JSON rejects, and does not throw
    write: async (collection, changes) => write(collection, textsOf(changes)),
    async drop(collection) {
      await catchUp();
      for (const [name, kept] of collections)
        if (isWithin(collection, name) && kept.size > 0)
          await write(name, new Map([...kept.keys()].map((key) => [key, null])));
    },
    watch(collection, listener, onRefusal = () => {}) {
      const notify = (written: string, texts: RecordTexts) => {
        if (written === collection) listener(recordsOf(texts));
      };
      watchers.add(notify);
      // what was written before is no news
      if (watchers.size === 1) startWatching(onRefusal);
      return () => {
        watchers.delete(notify);
        if (watchers.size > 0) return;
        stopWatching?.();
        stopWatching = undefined;
      };
    },
    async lock(name): Promise<StorageLock | undefined> {
      const lock = await locks.take(name);
      return (
        lock && {
          async write(collection, changes) {
            const texts = textsOf(changes);
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

  async function write(collection: string, texts: RecordTexts, by: Line = {}): Promise<void> {
    // nothing is written to a file that can't be read
    if (!isRead) await catchUp();
    await journal.append({ ...by, collection, records: [...texts] });
    if (watchers.size > 0) await catchUp();
  }

  async function catchUp(): Promise<void> {
    await journal.readNew((line) => {
      if (locks.apply(line)) apply(line);
    });
    isRead = true;
  }

  function apply({ collection, records }: Line): void {
    if (typeof collection !== "string" || !Array.isArray(records)) return;
    const kept = collections.get(collection) ?? new Map<string, string>();
    collections.set(collection, kept);
    const texts = new Map(records as [string, string | null][]);
    for (const [key, text] of texts) {
      if (text === null) kept.delete(key);
      else kept.set(key, text);
    }
    for (const notify of watchers) isolate(() => notify(collection, texts));
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
        // Deno ignores `persistent`, and references the watcher again after each event: a script would never exit
        watcher.unref();
        watcher.on("error", onRefusal);
        stopWatching = () => watcher.close();
        // what was written between that read and the watcher
        return catchUp();
      })
      .catch(onRefusal);
  }
}
