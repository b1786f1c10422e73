import type { RecordStorage } from "@sluice/core";
import { openIndexedDBStorage } from "../storage/indexed-db.js";
import { openMemoryStorage } from "../storage/memory.js";
import { openWebStorage, type WebStorage } from "../storage/web.js";
import { createStorageSession } from "./storage-session.js";

/* The public storages. Each adds the code for chats to a storage of another file, which sign-outs and lists use without it. */

/**
 * A storage that chats can use: `indexedDBStorage()`, `webStorage()`, `memoryStorage()`, `fileStorage()`, or
 * {@link customStorage} with your own.
 */
export interface ChatStorage extends RecordStorage {
  /** Opens the storage for a chat. It brings the code, so that a page without a storage does not contain it. */
  readonly openChat: (chat: never) => unknown;
}

/** The field of {@link ChatStorage} that all storages of this package share. */
export const storesChats: Pick<ChatStorage, "openChat"> = { openChat: createStorageSession };

/**
 * Creates a storage in IndexedDB, with as much space as the browser allows, mostly gigabytes. `subscribe` reports writes of
 * other tabs, workers and storages of the same name through a `BroadcastChannel`, if the platform has one.
 *
 * The database is opened at the first use. The connection closes when another page deletes the database, and opens
 * again at the next use.
 *
 * @param options.name name of the database and the channel, before a version number. Each app of an origin needs its own
 * name. Default `"sluice"`.
 *
 * @example
 * ```ts
 * const storage = indexedDBStorage();
 * const chat = createChatStore(client, { id: "support", model: "delta-5.3", storage });
 * ```
 */
export function indexedDBStorage({
  name,
}: {
  /** Name of the database and the channel. Each app of an origin needs its own name. @default "sluice" */
  name?: string;
} = {}): ChatStorage {
  return { ...openIndexedDBStorage(name), ...storesChats };
}

/**
 * Creates a storage in `localStorage` or `sessionStorage`: one item for each record, about 5 MB in total. Use it for a few
 * chats without images; {@link indexedDBStorage} holds more and does not block the page.
 *
 * A function is called at each use, never at import or during server rendering. If the page may not use the storage
 * (cookies are turned off), promises reject and nothing throws.
 *
 * `subscribe` reports writes of other tabs and frames through the window's `storage` events. It reports neither writes in the
 * same page nor `storage.clear()`.
 *
 * @param options.prefix prefix of the items' names. Each app of an origin needs its own prefix. Default `"sluice"`.
 *
 * @example
 * ```ts
 * const storage = webStorage(() => localStorage);
 * const chat = createChatStore(client, { id: "support", model: "delta-5.3", storage });
 * ```
 */
export function webStorage(
  storage: WebStorage | (() => WebStorage),
  {
    prefix,
  }: {
    /** Prefix of the items' names. Each app of an origin needs its own prefix. @default "sluice" */
    prefix?: string;
  } = {},
): ChatStorage {
  return { ...openWebStorage(storage, prefix), ...storesChats };
}

/**
 * Creates a storage that lasts as long as the page, for tests and for pages that must not store anything. Stores that
 * share it behave like tabs: `subscribe` reports every write, including the watcher's own writes.
 *
 * @example
 * ```ts
 * const storage = memoryStorage();
 * await storage.write("notes", new Map([["a", { text: "Hello" }]]));
 * await storage.read("notes"); // Map { "a" => { text: "Hello" } }
 * ```
 */
export function memoryStorage(): ChatStorage {
  return { ...openMemoryStorage(), ...storesChats };
}

const METHODS = ["read", "write", "subscribe", "broadcast", "clear", "lock"] as const;

/**
 * Lets chats use a storage of your own. Lists, tasks and batches use a {@link RecordStorage} as it is.
 *
 * @param records the storage. `storageTests` of `@sluice/stores/testing` tests it
 * @example
 * ```ts
 * import { customStorage, memoryStorage } from "@sluice/stores";
 *
 * const records = memoryStorage();
 * const storage = customStorage({ ...records, read: (collection) => records.read(`chats of my app/${collection}`) });
 * ```
 */
export function customStorage(records: RecordStorage): ChatStorage {
  const methods = METHODS.flatMap((name) => {
    const method = records[name];
    return method ? [[name, method.bind(records)]] : [];
  });
  const { status } = records;
  return { ...Object.fromEntries(methods), ...(status && { status }), ...storesChats };
}
