import { repaired } from "../chat/conversation/repair.js";
import type { ChatRequestMessage } from "../chat/protocol/message-schema.js";
import { openIndexedDBStorage } from "../storage/indexed-db.js";
import type { RecordStorage } from "../storage/storage.js";
import { openWebStorage, type WebStorage } from "../storage/web.js";

/*
 * Names of `index.ts` whose code the client also loads later. esbuild loads each file at once that an entry names and
 * that anything keeps, also later code. Only a program that uses one of these names keeps this file.
 */

/**
 * Repairs a history so that a gateway accepts it.
 *
 * - Each tool call is followed by its result; a call without one gets a result that says "cancelled".
 * - A result without its call, and a second result of one call, are removed.
 * - Arguments that are not JSON become `{}` where the call has a result; a call that was cut off is removed.
 * - An answer without any content is removed.
 * - A call without a name is removed.
 * - Ids of calls become text. A call without an id, and a second call with the same id, get a new id.
 *
 * @param messages the history; it is not changed, and valid messages are returned as they are
 * @example
 * ```ts
 * const messages = repairHistory([...saved, { role: "user", content: "Go on" }]);
 * const turn = await completeChat(client, { model: "alpha-v4.1-flash", messages });
 * ```
 */
export function repairHistory(messages: readonly ChatRequestMessage[]): ChatRequestMessage[] {
  return repaired(messages);
}

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
