import type { RecordStorage } from "@sluice/core";
import type { Scoped } from "../base/user-prefix.js";

/** Clears a store. May return a function to call after the sign-out. */
type Forget = () => unknown;

/** The stores and storages that a client uses in this page. */
interface StorageUse {
  /** Functions that a sign-out calls, one for each store in use. */
  readonly stores: Set<Forget>;
  /** The client's object for each storage. */
  readonly own: Map<RecordStorage, RecordStorage>;
  /** Names of the used collections, including the user. */
  readonly collections: Set<string>;
  /** Writes that have not ended. */
  readonly pending: Set<Promise<unknown>>;
  isForgetting: boolean;
  /** Sender of this client's notices, once it has sent one. A storage may report them to this tab, too. */
  sender?: string;
}

const uses = new WeakMap<Scoped, StorageUse>();

/** Returns what a client uses; creates an empty record at the first call. */
export function getStorageUse(client: Scoped): StorageUse {
  const known = uses.get(client);
  if (known) return known;
  const created: StorageUse = {
    stores: new Set(),
    own: new Map(),
    collections: new Set(),
    pending: new Set(),
    isForgetting: false,
  };
  uses.set(client, created);
  return created;
}

/**
 * Registers a store for `signOut`. `forget` clears the store, and may return a function to call after the sign-out.
 * Returns a function that unregisters the store when it is not used any longer.
 *
 * @example
 * ```ts
 * const notes = new Map<string, string>();
 * const unregister = registerForget(client, () => notes.clear());
 * ```
 */
export function registerForget(client: Scoped, forget: Forget): () => void {
  const { stores } = getStorageUse(client);
  // a new function, because the same `forget` may be registered twice
  const store = () => forget();
  stores.add(store);
  return () => void stores.delete(store);
}
