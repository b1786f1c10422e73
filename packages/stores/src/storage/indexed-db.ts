import type { RecordStorage } from "@sluice/core";
import { toError } from "@sluice/core/extend";
import type { IDBPDatabase, IDBPTransaction } from "idb";
import { markRefusal } from "../base/platform-limits.js";
import { openTabChannel, type TabChannel } from "../tabs/channel.js";
import { parseRecords, type RecordTexts, stringifyRecords } from "./record-texts.js";

/** Creates the changes that remove these records, by collection. */
function toRemovals(keys: readonly [collection: string, key: string][]): Map<string, Map<string, null>> {
  const changes = new Map<string, Map<string, null>>();
  for (const [collection, key] of keys) {
    const texts = changes.get(collection) ?? new Map<string, null>();
    changes.set(collection, texts.set(key, null));
  }
  return changes;
}

/** Returns true for an error of a dead connection. WebKit throws `UnknownError` when it has lost its database process. */
function isDeadConnection({ name }: Error): boolean {
  return name === "InvalidStateError" || name === "UnknownError";
}

const VERSION = 1;
const STORE_NAME = "records";

type Transaction<Mode extends "readonly" | "readwrite"> = IDBPTransaction<unknown, [typeof STORE_NAME], Mode>;

/** Change event between tabs. It contains the records, so that the other tabs need not read them. */
interface ChangeEvent {
  readonly collection: string;
  readonly texts: RecordTexts;
}

/** Creates the storage that `indexedDBStorage` returns. */
export function openIndexedDBStorage(name = "sluice"): RecordStorage {
  // each version has its own database; otherwise an upgrade would wait until all other pages close theirs
  const versioned = `${name}/${VERSION}`;
  let opening: Promise<IDBPDatabase> | undefined;
  /** Number of started writes. */
  let writes = 0;
  let channel: TabChannel<ChangeEvent> | undefined;
  const listeners = new Set<(event: ChangeEvent) => void>();

  return {
    read: (collection) =>
      transact("readonly", async ({ store }) => {
        // an array sorts after every text, so that the range has all keys [collection, text]
        const range = IDBKeyRange.bound([collection], [collection, []]);
        const [keys, texts] = await Promise.all([store.getAllKeys(range), store.getAll(range)]);
        return parseRecords(keys.map((key, index) => [(key as [string, string])[1], texts[index]] as const));
      }),
    async write(collection, changes) {
      const texts = stringifyRecords(changes);
      await transact("readwrite", async (transaction) => {
        const { store, done } = transaction;
        const requests = [...texts].map(([key, text]) =>
          text === null ? store.delete([collection, key]) : store.put(text, [collection, key]),
        );
        // otherwise the last write of a closed page would be lost
        transaction.commit();
        await Promise.all([done, ...requests]);
      });
      post({ collection, texts });
    },
    async clear(collection) {
      const keys = await transact("readwrite", async ({ store, done }) => {
        // "0" is the character after the slash
        const ranges = [
          IDBKeyRange.bound([collection], [collection, []]),
          IDBKeyRange.bound([`${collection}/`], [`${collection}0`], false, true),
        ];
        const found = (await Promise.all(ranges.map((range) => store.getAllKeys(range)))).flat();
        await Promise.all([...ranges.map((range) => store.delete(range)), done]);
        return found as [string, string][];
      });
      for (const [name, texts] of toRemovals(keys)) post({ collection: name, texts });
    },
    broadcast: (collection, changes) => post({ collection, texts: stringifyRecords(changes) }),
    subscribe(collection, listener, onRefusal) {
      const receive = ({ collection: written, texts }: ChangeEvent) => {
        if (written === collection && texts instanceof Map) listener(parseRecords(texts));
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
   * Runs a transaction. A browser may close the connection without an event, as iOS does in the background. The
   * transaction then runs again in a new connection. This is safe, because the first run stored nothing or the same.
   */
  async function transact<Mode extends "readonly" | "readwrite", Result>(
    mode: Mode,
    run: (transaction: Transaction<Mode>) => Promise<Result>,
  ): Promise<Result> {
    const isWrite = mode === "readwrite";
    if (isWrite) writes += 1;
    const writeNumber = writes;
    const usedConnection = connect();
    const database = await usedConnection;
    let transaction: Transaction<Mode> | undefined;
    try {
      transaction = database.transaction(STORE_NAME, mode);
      return await run(transaction);
    } catch (error) {
      if (transaction && !isDeadConnection(toError(error))) throw error;
      release(usedConnection);
      database.close();
      // a later write may be stored already and must not be overwritten
      if (transaction && isWrite && writeNumber < writes) throw error;
      return run((await connect()).transaction(STORE_NAME, mode));
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
      // loaded here, because most pages of an app need no database
      const { openDB } = await import("idb");
      const connection = await openDB(versioned, VERSION, {
        upgrade: (created) => void created.createObjectStore(STORE_NAME),
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

  /** Forgets a connection, unless another connection has replaced it. */
  function release(ended: Promise<IDBPDatabase>): void {
    if (opening === ended) opening = undefined;
  }

  function openChannel(onRefusal: (error: unknown) => void = () => {}): TabChannel<ChangeEvent> {
    const receive = (event: ChangeEvent) => {
      for (const listener of [...listeners]) listener(event);
    };
    return openTabChannel(versioned, receive, (error) => onRefusal(markRefusal("broadcast-channel", error)));
  }

  /**
   * Posts through the channel that this storage listens on, if any, because a channel does not receive its own messages.
   */
  function post(event: ChangeEvent): void {
    const usedChannel = channel ?? openChannel();
    usedChannel.post(event);
    if (usedChannel !== channel) usedChannel.close();
  }
}
