import type { RecordStorage } from "@sluice/core";
import { openIndexedDBStorage } from "./indexed-db.js";
import { openWebStorage, type WebStorage } from "./web.js";

/*
 * Exports of `index.ts` whose code `signOut` also loads later. This separate file lets bundlers drop it from programs that
 * use none of these exports. Otherwise esbuild would load the code at once, because the entry names it and later code
 * needs it.
 */

/**
 * Creates a storage in IndexedDB, with as much space as the browser allows, mostly gigabytes. `watch` reports writes of
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
} = {}): RecordStorage {
  return openIndexedDBStorage(name);
}

/**
 * Creates a storage in `localStorage` or `sessionStorage`: one item for each record, about 5 MB in total. Use it for a few
 * chats without images; {@link indexedDBStorage} holds more and does not block the page.
 *
 * A function is called at each use, never at import or during server rendering. If the page may not use the storage
 * (cookies are turned off), promises reject and nothing throws.
 *
 * `watch` reports writes of other tabs and frames through the window's `storage` events. It does not report other storages
 * of its own page, nor `storage.clear()`.
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
): RecordStorage {
  return openWebStorage(storage, prefix);
}
