import type { RecordStorage } from "@sluice/core";
import {
  addUserPrefix,
  type Reporter,
  reportStorageFailure,
  type Scoped,
  type SharedDevices,
} from "@sluice/core/internal";
import { FORGOTTEN, NOTICE, storagesOf } from "./client-storages.js";
import { loadForgetting, storesInUse } from "./in-use.js";

/**
 * Returns a storage as a client uses it: its collections have the client's scope in their names. Stores of the core and
 * of the hooks use no storage in another way. Changes that can't be watched are reported to the client. The same object
 * for the same client and storage.
 */
export function storageOf(client: Scoped & Reporter, storage: RecordStorage): RecordStorage {
  const { own } = storagesOf(client);
  const known = own.get(storage);
  if (known) return known;
  const created = createClientStorage(client, storage);
  own.set(storage, created);
  return created;
}

function createClientStorage(client: Scoped & Reporter, storage: RecordStorage): RecordStorage {
  const { collections, pending } = storagesOf(client);
  let watchers = 0;
  let stopNotices: (() => void) | undefined;
  return {
    read: (collection) => storage.read(nameOf(collection)),
    write: writeBy(storage),
    watch(collection, listener) {
      try {
        const stop = watch(collection, listener, report);
        if (watchers === 0) stopNotices = watch(FORGOTTEN, onNotice);
        watchers += 1;
        return () => {
          stop();
          watchers -= 1;
          if (watchers === 0) stopNotices?.();
        };
      } catch (error) {
        report(error);
        return () => {};
      }
    },
    pass: (collection, changes) => storage.pass?.(nameOf(collection), changes),
    ...(storage.lock && {
      async lock(name) {
        const lock = await storage.lock?.(addUserPrefix(client, name));
        return lock && { write: writeBy(lock), release: () => lock.release() };
      },
    }),
    ...(storage.devices && { devices: devicesOf(storage.devices) }),
  };

  /** Watches a storage of the app's own, which may return no function. */
  function watch(...[collection, ...more]: Parameters<RecordStorage["watch"]>): () => void {
    const stop: unknown = storage.watch(nameOf(collection), ...more);
    if (typeof stop === "function") return stop as () => void;
    report(new TypeError("storage.watch() must return a function that ends the watching"));
    return () => {};
  }

  function devicesOf(devices: SharedDevices): SharedDevices {
    return {
      id: () => devices.id(),
      open: (collection, kept, tabs, refresh) => devices.open(nameOf(collection), kept, tabs, refresh),
      status: (collection) => devices.status(nameOf(collection)),
      noteShown: (collection, ms, note) => devices.noteShown?.(nameOf(collection), ms, note),
    };
  }

  function writeBy(writer: Pick<RecordStorage, "write">): RecordStorage["write"] {
    return (collection, changes) => {
      const writing = writer.write(nameOf(collection), changes);
      pending.add(writing);
      const end = () => void pending.delete(writing);
      writing.then(end, end);
      return writing;
    };
  }

  function nameOf(collection: string): string {
    const name = addUserPrefix(client, collection);
    collections.add(name);
    return name;
  }

  /** Another tab forgets the user: this one must not write it again. */
  function onNotice(records: ReadonlyMap<string, unknown>): void {
    const from = records.get(NOTICE);
    // this tab has forgotten all: what it has now is new
    if (from === undefined || from === storagesOf(client).sender) return;
    loadForgetting()
      .then(({ forgetHere }) => forgetHere(client, storesInUse(client), [storage]))
      .catch((error) => {
        // its code could not be loaded: the other tab removes what is stored, and this one still shows it
        for (const forget of [...storesInUse(client)]) forget();
        report(error);
      });
  }

  function report(error: unknown): void {
    reportStorageFailure(client, error);
  }
}
