import type { RecordStorage } from "@sluice/core";
import { type Reporter, reportStorageFailure } from "../base/platform-limits.js";
import { addUserPrefix, type UserClient } from "../base/user-prefix.js";
import { FORGOTTEN, forgetUserData, getStorageUse, SIGN_OUT } from "./forget.js";

/**
 * Returns the storage of a client: a storage whose collection names contain the client's user. All stores use their
 * storage through this function. Reports failures of `subscribe` to the client. Returns the same object for the same client
 * and storage.
 *
 * @example
 * ```ts
 * const records = await getClientStorage(client, storage).read("notes");
 * ```
 */
export function getClientStorage(client: UserClient & Reporter, storage: RecordStorage): RecordStorage {
  const { clientStorages } = getStorageUse(client);
  const known = clientStorages.get(storage);
  if (known) return known;
  const created = createClientStorage(client, storage);
  clientStorages.set(storage, created);
  return created;
}

function createClientStorage(client: UserClient & Reporter, storage: RecordStorage): RecordStorage {
  const use = getStorageUse(client);
  const { collections, pending } = use;
  const report = (error: unknown) => reportStorageFailure(client, error);
  let subscriptions = 0;
  let unwatchSignOut: (() => void) | undefined;
  return {
    read: (collection) => storage.read(createName(collection)),
    write: createWrite(storage),
    subscribe(collection, listener) {
      try {
        const stop = watch(collection, listener, report);
        if (subscriptions === 0) unwatchSignOut = watch(FORGOTTEN, handleSignOut);
        subscriptions += 1;
        return () => {
          stop();
          subscriptions -= 1;
          if (subscriptions === 0) unwatchSignOut?.();
        };
      } catch (error) {
        report(error);
        return () => {};
      }
    },
    broadcast: (collection, changes) => storage.broadcast?.(createName(collection), changes),
    ...(storage.lock && {
      async lock(name) {
        const lock = await storage.lock?.(addUserPrefix(client, name));
        return lock && { write: createWrite(lock), release: () => lock.release() };
      },
    }),
    ...(storage.status && { status: storage.status }),
  };

  /** Watches a collection. A custom storage may return no function. */
  function watch(...[collection, ...listeners]: Parameters<RecordStorage["subscribe"]>): () => void {
    const stop: unknown = storage.subscribe(createName(collection), ...listeners);
    if (typeof stop === "function") return stop as () => void;
    report(new TypeError("storage.subscribe() must return a function that ends the watching"));
    return () => {};
  }

  function createWrite(writer: Pick<RecordStorage, "write">): RecordStorage["write"] {
    return (collection, changes) => {
      // a sign-out deletes nothing on a server; it removes the records from the storage itself
      if (use.isForgetting) return Promise.resolve();
      const writing = writer.write(createName(collection), changes);
      pending.add(writing);
      const end = () => void pending.delete(writing);
      writing.then(end, end);
      return writing;
    };
  }

  function createName(collection: string): string {
    const name = addUserPrefix(client, collection);
    collections.add(name);
    return name;
  }

  /** Handles the sign-out of another tab, so that this tab does not write data of the user again. */
  function handleSignOut(records: ReadonlyMap<string, unknown>): void {
    const sender = records.get(SIGN_OUT);
    // the sign-out has ended and removed its record, or this tab has sent it
    if (sender !== undefined && sender !== use.sender) void forgetUserData(client, [storage]);
  }
}
