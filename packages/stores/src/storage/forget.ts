import type { RecordStorage } from "@sluice/core";
import { systemClock } from "@sluice/core/extend";
import { addUserPrefix, formatUserPrefix, type UserClient } from "../base/user-prefix.js";
import { waitForStorage } from "./wait.js";

/** Collection in which a tab tells other tabs that it signs out a user. Its record is soon removed. */
export const FORGOTTEN = "forgotten";
/** Key of that record. The record contains the sender. */
export const SIGN_OUT = "sign-out";

/** Prefixes of all collection names, for a client without a user. */
const COLLECTIONS = [
  "batches",
  "chat",
  "conversations",
  "drafts",
  "receipts",
  "sync",
  "uploads",
  "video-tasks",
  FORGOTTEN,
];

/** Clears a store. May return a function to call after the sign-out. */
type Forget = () => unknown;

/** The stores and storages that a client uses in this page. */
interface StorageUse {
  /** Functions that a sign-out calls, one for each store in use. */
  readonly stores: Set<Forget>;
  /** The client's object for each storage. */
  readonly clientStorages: Map<RecordStorage, RecordStorage>;
  /** Names of the used collections, including the user. */
  readonly collections: Set<string>;
  /** Writes that have not ended. */
  readonly pending: Set<Promise<unknown>>;
  isForgetting: boolean;
  /** Sender of this client's sign-outs, once it has sent one. A storage may report them to this tab, too. */
  sender?: string;
}

const uses = new WeakMap<UserClient, StorageUse>();

/** Returns the stores and storages that a client uses; creates an empty record at the first call. */
export function getStorageUse(client: UserClient): StorageUse {
  const known = uses.get(client);
  if (known) return known;
  const created: StorageUse = {
    stores: new Set(),
    clientStorages: new Map(),
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
export function registerForget(client: UserClient, forget: Forget): () => void {
  const { stores } = getStorageUse(client);
  // a new function, because the same `forget` may be registered twice
  const store = () => forget();
  stores.add(store);
  return () => void stores.delete(store);
}

/** Clears the stores of this tab and removes the user's records from storages. Returns the failures. */
export async function forgetUserData(
  client: UserClient,
  storages: readonly RecordStorage[],
): Promise<readonly { readonly storage: RecordStorage; readonly error: unknown }[]> {
  const known = getStorageUse(client);
  if (known.isForgetting) return [];
  known.isForgetting = true;
  const failures: { storage: RecordStorage; error: unknown }[] = [];
  try {
    const reopenStores = [...known.stores].map((forget) => forget());
    // pending writes must end before the removal
    await waitForStorage(systemClock, () => Promise.allSettled(known.pending)).catch(() => {});
    for (const storage of new Set(storages))
      await waitForStorage(systemClock, () => clearStorage(client, storage)).catch((error) =>
        failures.push({ storage, error }),
      );
    for (const reopenStore of reopenStores) if (typeof reopenStore === "function") reopenStore();
  } finally {
    known.isForgetting = false;
  }
  return failures;
}

async function clearStorage(client: UserClient, storage: RecordStorage): Promise<void> {
  const { user } = client;
  const names = user === undefined ? COLLECTIONS : [formatUserPrefix(user)];
  if (storage.clear) for (const name of names) await storage.clear(name);
  else await removeKnownRecords(client, storage);
}

/** Removes the collections that this page knows from a storage without `clear`. Throws, because others may be left. */
async function removeKnownRecords(client: UserClient, storage: RecordStorage): Promise<void> {
  const conversations = await storage.read(addUserPrefix(client, "conversations"));
  const names = new Set(getStorageUse(client).collections);
  for (const id of conversations.keys()) names.add(addUserPrefix(client, `chat/${id}`));
  for (const name of COLLECTIONS) names.add(addUserPrefix(client, name));
  for (const name of names) {
    const keys = [...(await storage.read(name)).keys()];
    if (keys.length > 0) await storage.write(name, new Map(keys.map((key) => [key, undefined])));
  }
  throw new Error("a storage has no `clear`: records of other pages may be left in it");
}
