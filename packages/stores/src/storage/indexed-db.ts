import type { RecordStorage } from "@sluice/core";
import { markRefusal, toError } from "@sluice/core/internal";
import type { IDBPDatabase, IDBPTransaction } from "idb";
import { openTabChannel, type TabChannel } from "../tabs/channel.js";
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

/** Checks for an error of a connection that is dead: `UnknownError` is that of WebKit, which lost its database process. */
function isOfDeadConnection({ name }: Error): boolean {
  return name === "InvalidStateError" || name === "UnknownError";
}

const VERSION = 1;
const RECORDS = "records";

type Transaction<Mode extends "readonly" | "readwrite"> = IDBPTransaction<unknown, [typeof RECORDS], Mode>;

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
  /** Number of writes that have begun. */
  let writes = 0;
  let channel: TabChannel<Notice> | undefined;
  const listeners = new Set<(notice: Notice) => void>();

  return {
    read: (collection) =>
      transact("readonly", async ({ store }) => {
        // an array sorts after every text: the range has all keys [collection, text]
        const all = IDBKeyRange.bound([collection], [collection, []]);
        const [keys, texts] = await Promise.all([store.getAllKeys(all), store.getAll(all)]);
        return recordsOf(keys.map((key, index) => [(key as [string, string])[1], texts[index]] as const));
      }),
    async write(collection, changes) {
      const texts = textsOf(changes);
      await transact("readwrite", async (transaction) => {
        const { store, done } = transaction;
        const requests = [...texts].map(([key, text]) =>
          text === null ? store.delete([collection, key]) : store.put(text, [collection, key]),
        );
        // without it, the last write of a page that is closed would be lost
        transaction.commit();
        await Promise.all([done, ...requests]);
      });
      post({ collection, texts });
    },
    async drop(collection) {
      const keys = await transact("readwrite", async ({ store, done }) => {
        // "0" follows the slash
        const ranges = [
          IDBKeyRange.bound([collection], [collection, []]),
          IDBKeyRange.bound([`${collection}/`], [`${collection}0`], false, true),
        ];
        const found = (await Promise.all(ranges.map((range) => store.getAllKeys(range)))).flat();
        await Promise.all([...ranges.map((range) => store.delete(range)), done]);
        return found as [string, string][];
      });
      for (const [name, texts] of removed(keys)) post({ collection: name, texts });
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

  /**
   * Runs a transaction. A browser may close the connection without an event: iOS does in the background. Then the
   * transaction runs once more in a new connection. This is safe, because the first one stored nothing or the same.
   */
  async function transact<Mode extends "readonly" | "readwrite", Result>(
    mode: Mode,
    run: (transaction: Transaction<Mode>) => Promise<Result>,
  ): Promise<Result> {
    const isWrite = mode === "readwrite";
    if (isWrite) writes += 1;
    const place = writes;
    const used = connect();
    const database = await used;
    let transaction: Transaction<Mode> | undefined;
    try {
      transaction = database.transaction(RECORDS, mode);
      return await run(transaction);
    } catch (error) {
      if (transaction && !isOfDeadConnection(toError(error))) throw error;
      release(used);
      database.close();
      // a later write may be stored already, and must not be overwritten
      if (transaction && isWrite && place < writes) throw error;
      return run((await connect()).transaction(RECORDS, mode));
    }
  }

  function connect(): Promise<IDBPDatabase> {
    if (!opening) {
      const opened: Promise<IDBPDatabase> = open(() => release(opened));
      opening = opened;
      opened.catch(() => release(opened));
    }
    return opening;
  }

  async function open(onClose: () => void): Promise<IDBPDatabase> {
    try {
      // loaded here: most pages of an app need no database
      const { openDB } = await import("idb");
      const connection = await openDB(versioned, VERSION, {
        upgrade: (created) => void created.createObjectStore(RECORDS),
        blocking() {
          onClose();
          connection.close();
        },
        terminated: onClose,
      });
      return connection;
    } catch (error) {
      throw markRefusal("indexed-db", error);
    }
  }

  /** Forgets a connection, unless another one has replaced it. */
  function release(ended: Promise<IDBPDatabase>): void {
    if (opening === ended) opening = undefined;
  }

  function openChannel(onRefusal: (error: unknown) => void = () => {}): TabChannel<Notice> {
    const receive = (notice: Notice) => {
      for (const listener of [...listeners]) listener(notice);
    };
    return openTabChannel(versioned, receive, (error) => onRefusal(markRefusal("broadcast-channel", error)));
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
