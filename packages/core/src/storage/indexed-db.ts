import { type IDBPDatabase, openDB } from "idb";
import { refusalOf } from "../base/platform-limits.js";
import { openTabChannel, type TabChannel } from "../tabs/channel.js";
import type { RecordStorage } from "./storage.js";
import { type RecordTexts, recordsOf, textsOf } from "./texts.js";

const VERSION = 1;
const RECORDS = "records";

/** Message between tabs. It carries the texts, so that the others need not read. */
interface Notice {
  readonly collection: string;
  readonly texts: RecordTexts;
}

/**
 * Creates a storage in IndexedDB, with as much room as the browser allows, mostly gigabytes. `watch` reports
 * writes of other tabs, workers and storages of the same name through a `BroadcastChannel`, where there is
 * one.
 *
 * Nothing is opened before the first use. The connection closes when another page wants to delete the
 * database, and opens again at the next use.
 *
 * @param options.name of the database and the channel, which a version is added to: one for each app of an origin.
 *   Default `"sluice"`.
 *
 * @example
 * ```ts
 * const storage = indexedDBStorage();
 * const chat = createChatStore(client, { id: "support", model: "delta-5.3", storage });
 * ```
 */
export function indexedDBStorage({
  name = "sluice",
}: {
  /** Name of the database and the channel: one for each app of an origin. @default "sluice" */
  name?: string;
} = {}): RecordStorage {
  // a database for each version: none is ever upgraded, so no page waits for another one to let go of it
  const versioned = `${name}/${VERSION}`;
  let opening: Promise<IDBPDatabase> | undefined;
  let channel: TabChannel<Notice> | undefined;
  const listeners = new Set<(notice: Notice) => void>();

  return {
    async read(collection) {
      const { store } = (await database()).transaction(RECORDS);
      // an array comes after every text: this is all keys [collection, text]
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
      // without it, a page that is being left would take its last write with it
      transaction.commit();
      await Promise.all([done, ...requests]);
      tellOthers({ collection, texts });
    },
    watch(collection, listener, onRefusal) {
      const hear = ({ collection: written, texts }: Notice) => {
        if (written === collection && texts instanceof Map) listener(recordsOf(texts));
      };
      channel ??= openChannel(onRefusal);
      listeners.add(hear);
      return () => {
        listeners.delete(hear);
        if (listeners.size > 0) return;
        channel?.close();
        channel = undefined;
      };
    },
  };

  function database(): Promise<IDBPDatabase> {
    if (!opening) {
      opening = open();
      opening.catch(forget);
    }
    return opening;
  }

  async function open(): Promise<IDBPDatabase> {
    try {
      const connection = await openDB(versioned, VERSION, {
        upgrade: (created) => void created.createObjectStore(RECORDS),
        blocking() {
          forget();
          connection.close();
        },
        terminated: forget,
      });
      return connection;
    } catch (error) {
      throw refusalOf("indexed-db", error);
    }
  }

  function forget(): void {
    opening = undefined;
  }

  function openChannel(onRefusal: (error: unknown) => void = () => {}): TabChannel<Notice> {
    const hear = (notice: Notice) => {
      for (const listener of [...listeners]) listener(notice);
    };
    return openTabChannel(versioned, hear, (error) => onRefusal(refusalOf("broadcast-channel", error)));
  }

  /** Through the channel that this storage listens on, if it does: a channel does not hear itself. */
  function tellOthers(notice: Notice): void {
    const own = channel ?? openChannel();
    own.post(notice);
    if (own !== channel) own.close();
  }
}
