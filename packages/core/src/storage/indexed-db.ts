import type { IDBPDatabase } from "idb";
import { refusalOf } from "../base/platform-limits.js";
import { openTabChannel, type TabChannel } from "../tabs/channel.js";
import type { RecordStorage } from "./storage.js";
import { type RecordTexts, recordsOf, textsOf } from "./texts.js";

/** Returns the removal of records, by collection. */
function removed(keys: readonly [collection: string, key: string][]): Map<string, Map<string, null>> {
  const all = new Map<string, Map<string, null>>();
  for (const [collection, key] of keys) {
    const texts = all.get(collection) ?? new Map<string, null>();
    all.set(collection, texts.set(key, null));
  }
  return all;
}

const VERSION = 1;
const RECORDS = "records";

/** Message between tabs. It carries the records, so that the other tabs need not read them. */
interface Notice {
  readonly collection: string;
  readonly texts: RecordTexts;
}

/** Creates the storage that `indexedDBStorage` returns. */
export function openIndexedDBStorage(name = "sluice"): RecordStorage {
  // each version has its own database: none is ever upgraded, so no page waits until another one closes it
  const versioned = `${name}/${VERSION}`;
  let opening: Promise<IDBPDatabase> | undefined;
  let channel: TabChannel<Notice> | undefined;
  const listeners = new Set<(notice: Notice) => void>();

  return {
    async read(collection) {
      const { store } = (await database()).transaction(RECORDS);
      // an array sorts after every text: the range has all keys [collection, text]
      const all = IDBKeyRange.bound([collection], [collection, []]);
      const [keys, texts] = await Promise.all([store.getAllKeys(all), store.getAll(all)]);
      return recordsOf(keys.map((key, index) => [(key as [string, string])[1], texts[index]] as const));
    },
    async write(collection, changes) {
      const texts = textsOf(changes);
      const transaction = (await database()).transaction(RECORDS, "readwrite");
      const { store, done } = transaction;
      const requests = [...texts].map(([key, text]) =>
        text === null ? store.delete([collection, key]) : store.put(text, [collection, key]),
      );
      // without it, the last write of a page that is closed would be lost
      transaction.commit();
      await Promise.all([done, ...requests]);
      post({ collection, texts });
    },
    async drop(collection) {
      const transaction = (await database()).transaction(RECORDS, "readwrite");
      const { store, done } = transaction;
      // "0" follows the slash
      const ranges = [
        IDBKeyRange.bound([collection], [collection, []]),
        IDBKeyRange.bound([`${collection}/`], [`${collection}0`], false, true),
      ];
      const keys = (await Promise.all(ranges.map((range) => store.getAllKeys(range)))).flat();
      await Promise.all([...ranges.map((range) => store.delete(range)), done]);
      for (const [name, texts] of removed(keys as [string, string][])) post({ collection: name, texts });
    },
    pass: (collection, changes) => post({ collection, texts: textsOf(changes) }),
    watch(collection, listener, onRefusal) {
      const receive = ({ collection: written, texts }: Notice) => {
        if (written === collection && texts instanceof Map) listener(recordsOf(texts));
      };
      channel ??= openChannel(onRefusal);
      listeners.add(receive);
      return () => {
        listeners.delete(receive);
        if (listeners.size > 0) return;
        channel?.close();
        channel = undefined;
      };
    },
  };

  function database(): Promise<IDBPDatabase> {
    if (!opening) {
      opening = open();
      opening.catch(release);
    }
    return opening;
  }

  async function open(): Promise<IDBPDatabase> {
    try {
      // loaded here: most pages of an app need no database
      const { openDB } = await import("idb");
      const connection = await openDB(versioned, VERSION, {
        upgrade: (created) => void created.createObjectStore(RECORDS),
        blocking() {
          release();
          connection.close();
        },
        terminated: release,
      });
      return connection;
    } catch (error) {
      throw refusalOf("indexed-db", error);
    }
  }

  function release(): void {
    opening = undefined;
  }

  function openChannel(onRefusal: (error: unknown) => void = () => {}): TabChannel<Notice> {
    const receive = (notice: Notice) => {
      for (const listener of [...listeners]) listener(notice);
    };
    return openTabChannel(versioned, receive, (error) => onRefusal(refusalOf("broadcast-channel", error)));
  }

  /**
   * Posts through the channel that this storage listens on, if it does: a channel does not receive its own messages.
   */
  function post(notice: Notice): void {
    const open = channel ?? openChannel();
    open.post(notice);
    if (open !== channel) open.close();
  }
}
