import type { Client, RecordStorage, StorageLock } from "@sluice/core";
import { addUserPrefix, assertClient, type SharedDevices } from "@sluice/core/internal";
import { type ChatStorage, customStorage, memoryStorage } from "@sluice/stores";
import { openIndexedDBStorage } from "@sluice/stores/internal";
import type { DeviceLocks } from "../devices/device-lock.js";
import { createOtherDevices } from "../devices/devices.js";
import { type Collections, createCollections, type RecordRefusal } from "./collections.js";
import { placeOf } from "./place.js";

/** Options of `remoteStorage`. */
export interface RemoteStorageOptions {
  /**
   * Storage of the local copy, which is shown at once and without a network. What was kept there before is sent when its
   * conversation is opened.
   *
   * @default indexedDBStorage(), or memoryStorage() where there is no IndexedDB
   */
  readonly local?: RecordStorage | undefined;
  /**
   * Called for each record that the server does not take: it is too large, or its conversation or the user's space is
   * full. The record stays in this browser, and is sent again after its next change and after a reload. Without this
   * function the client emits a `storage-error`.
   */
  readonly onRefusal?: ((refusal: RecordRefusal) => void) | undefined;
}

/** Storage of conversations on a server, with a copy in this browser. */
export interface RemoteStorage extends ChatStorage, Pick<SharedDevices, "status"> {
  readonly devices: SharedDevices & DeviceLocks;
}

/**
 * Creates the storage of conversations that are the same on all devices of a user. Needs a proxy with `conversations()`
 * of `@sluice/durable`; with any other one it is the local storage, and the client emits one warning. Nothing is sent
 * before the first use.
 *
 * Chats (`chat/…`) and their list (`conversations`) live on the server, too; all other collections in this browser
 * alone. Reads come from the local copy. Writes go there first, and to the server as soon as it can be reached, also
 * after a reload. What other devices write comes to `watch`. Changes to one record on two devices are joined as those of
 * two tabs: messages by their results, conversations by their fields and revision. In these collections `null` removes a record, as
 * `undefined` does.
 *
 * `signOut` forgets the local copy, with what was not sent yet, and deletes nothing on the server. Removing a
 * conversation with `useConversations` deletes it there, too.
 *
 * @param client the client of the chats: its address, headers and `user`
 * @throws {ConfigurationError} where `client` was not made by `createClient`
 * @example
 * ```ts
 * const storage = remoteStorage(client);
 * const chat = createChatStore(client, { id: "trip", model: "delta-5.3", storage });
 * storage.status("chat/trip").getSnapshot(); // { isSyncing: false, unsent: 0 }
 * ```
 */
export function remoteStorage(client: Client, options: RemoteStorageOptions = {}): RemoteStorage {
  assertClient(client);
  const local = options.local ?? defaultStorage();
  let opened: Collections | undefined;
  // created with the first use: a server that renders a page uses nothing
  const collections = () => {
    opened ??= createCollections(client, local, options.onRefusal);
    return opened;
  };
  const locks: DeviceLocks = {
    lock(collection, name) {
      const place = placeOf(client, collection);
      return place ? collections().lock(place, name) : Promise.resolve(unshared);
    },
    watchLocks(collection, listener) {
      const place = placeOf(client, collection);
      return place ? collections().watchLocks(place, listener) : () => {};
    },
  };
  const devices: SharedDevices & DeviceLocks = {
    ...locks,
    id: () => collections().deviceId(),
    open: (collection, kept, tabs, refresh) => createOtherDevices(collection, kept, devices, tabs, refresh),
    noteShown(collection, ms, note) {
      const place = placeOf(client, collection);
      if (place) collections().noteShown(place, ms, note);
    },
    status,
  };
  const storage = customStorage({
    read(collection) {
      const place = placeOf(client, collection);
      return place ? collections().read(place) : local.read(collection);
    },
    write(collection, changes) {
      const place = placeOf(client, collection);
      return place ? collections().write(place, changes) : local.write(collection, changes);
    },
    watch(collection, listener, onRefusal) {
      const place = placeOf(client, collection);
      return place
        ? collections().watch(place, listener, onRefusal)
        : local.watch(collection, listener, onRefusal);
    },
    pass(collection, changes) {
      local.pass?.(collection, changes);
      const place = placeOf(client, collection);
      if (place) collections().pass(place, changes);
    },
    ...(local.drop && { drop: (collection: string) => collections().drop(collection) }),
    ...(local.lock && { lock }),
    devices,
  });
  return { ...storage, devices, status };

  /** Takes a lock of this browser. What is written by it goes to the server, too. */
  async function lock(name: string): Promise<StorageLock | undefined> {
    const taken = await local.lock?.(name);
    return (
      taken && {
        async write(collection, changes) {
          await taken.write(collection, changes);
          const place = placeOf(client, collection);
          if (place) await collections().write(place, changes);
        },
        release: () => taken.release(),
      }
    );
  }

  function status(collection: string): ReturnType<SharedDevices["status"]> {
    const place = placeOf(client, collection) ?? placeOf(client, addUserPrefix(client, collection));
    return place ? collections().status(place) : settled;
  }
}

/** Status of a collection that lives in this browser alone. */
const settled: ReturnType<SharedDevices["status"]> = {
  getSnapshot: () => nothingToSend,
  subscribe: () => () => {},
};
const nothingToSend = { isSyncing: false, unsent: 0 };

/** Lock of a collection that no other device has. */
const unshared = { isHeld: true, release: async () => {} };

function defaultStorage(): RecordStorage {
  return (globalThis as Partial<typeof globalThis>).indexedDB ? openIndexedDBStorage() : memoryStorage();
}
