import type { RecordStorage } from "@sluice/core";
import { openIndexedDBStorage } from "./indexed-db.js";
import { openWebStorage, type WebStorage } from "./web.js";

/*
 * Names of `index.ts` whose code `signOut` also loads later. esbuild loads each file at once that an entry names and
 * that anything keeps, also later code. Only a program that uses one of these names keeps this file.
 */

/**
 * Creates a storage in IndexedDB, with as much space as the browser allows, mostly gigabytes. `watch` reports writes of
 * other tabs, workers and storages of the same name through a `BroadcastChannel`, where there is one.
 *
 * The database is opened at the first use. The connection closes when another page deletes the database, and opens
 * again at the next use.
 *
 * @param options.name name of the database and the channel, to which a version is added: one for each app of an origin.
 * Default `"sluice"`.
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
  /** Name of the database and the channel: one for each app of an origin. @default "sluice" */
  name?: string;
} = {}): RecordStorage {
  return openIndexedDBStorage(name);
}

/**
 * Creates a storage in `localStorage` or `sessionStorage`: one item for each record, about 5 MB in all. For a few chats
 * without images; {@link indexedDBStorage} holds more and does not block the page.
 *
 * A function is called at each use, never at import or while rendering on a server. If the page may not use the storage
 * (cookies are turned off), promises reject and nothing throws.
 *
 * `watch` reports writes of other tabs and frames through the window's `storage` events. It reports no other storage of
 * its own page and no `storage.clear()`.
 *
 * @param options.prefix beginning of the items' names: one for each app of an origin. Default `"sluice"`.
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
    /** Beginning of the items' names: one for each app of an origin. @default "sluice" */
    prefix?: string;
  } = {},
): RecordStorage {
  return openWebStorage(storage, prefix);
}
