import type { RecordStorage } from "@sluice/core";
import { systemClock, toError } from "@sluice/core/extend";
import { isRefusal } from "../base/platform-limits.js";
import { addUserPrefix, formatUserPrefix, type Scoped } from "../base/user-prefix.js";
import { FORGOTTEN, getStorages, NOTICE } from "./client-storage.js";
import { openIndexedDBStorage } from "./indexed-db.js";
import { waitForStorage } from "./wait.js";
import { openWebStorage } from "./web.js";

/* Loaded when a user signs out. */

/** Prefixes of all collection names, for a client without a user. */
const COLLECTIONS = [
  "batches",
  "chat",
  "conversations",
  "drafts",
  "sync",
  "uploads",
  "video-tasks",
  FORGOTTEN,
];

/**
 * Removes all records of a client's user from the storages that the client has used in this page, from `given`, and from
 * the default storages of the browser. Other tabs do the same. Never rejects.
 *
 * @param stores functions that clear the stores in use
 * @returns the errors of failed removals; empty if no record is left
 */
export async function forget(
  client: Scoped,
  stores: Iterable<() => unknown>,
  given: readonly RecordStorage[],
): Promise<readonly Error[]> {
  const used = [...getStorages(client).own.keys(), ...given];
  for (const storage of new Set(used)) await notifyOtherTabs(client, storage);
  const defaults = openBrowserStorages();
  const failures = await forgetHere(client, stores, [...used, ...defaults]);
  return failures.flatMap(({ storage, error }) => {
    // an unused storage that the browser refuses is empty
    return defaults.includes(storage) && isRefusal(error) ? [] : toError(error);
  });
}

/** Clears the stores of this tab and removes the user's records from storages. Returns the failures. */
export async function forgetHere(
  client: Scoped,
  stores: Iterable<() => unknown>,
  storages: readonly RecordStorage[],
): Promise<readonly { readonly storage: RecordStorage; readonly error: unknown }[]> {
  const known = getStorages(client);
  if (known.isForgetting) return [];
  known.isForgetting = true;
  const failures: { storage: RecordStorage; error: unknown }[] = [];
  try {
    const reopen = [...stores].map((forget) => forget());
    // pending writes must end before the removal
    await waitForWrites([...known.pending]);
    for (const storage of new Set(storages))
      await waitForStorage(systemClock, () => drop(client, storage)).catch((error) =>
        failures.push({ storage, error }),
      );
    for (const open of reopen) if (typeof open === "function") open();
  } finally {
    known.isForgetting = false;
  }
  return failures;
}

async function waitForWrites(writes: readonly Promise<unknown>[]): Promise<void> {
  const all = Promise.allSettled(writes);
  await waitForStorage(systemClock, () => all).catch(() => {});
}

/** Sends the notice to other tabs. A storage without `broadcast` stores it until the removal. */
async function notifyOtherTabs(client: Scoped, storage: RecordStorage): Promise<void> {
  const name = addUserPrefix(client, FORGOTTEN);
  const known = getStorages(client);
  // lets this tab recognize its own notice
  known.sender ??= `${Math.random()}`;
  const notice = new Map([[NOTICE, known.sender]]);
  try {
    if (storage.broadcast) storage.broadcast(name, notice);
    else await waitForStorage(systemClock, () => storage.write(name, notice));
  } catch {
    // the removal fails as well, and reports its error
  }
}

async function drop(client: Scoped, storage: RecordStorage): Promise<void> {
  const { user } = client;
  const names = user === undefined ? COLLECTIONS : [formatUserPrefix(user)];
  if (storage.clear) for (const name of names) await storage.clear(name);
  else await dropKnownRecords(client, storage);
}

/** Removes the collections that this page knows from a storage without `clear`. Throws, because others may be left. */
async function dropKnownRecords(client: Scoped, storage: RecordStorage): Promise<void> {
  const conversations = await storage.read(addUserPrefix(client, "conversations"));
  const names = new Set(getStorages(client).collections);
  for (const id of conversations.keys()) names.add(addUserPrefix(client, `chat/${id}`));
  for (const name of COLLECTIONS) names.add(addUserPrefix(client, name));
  for (const name of names) {
    const keys = [...(await storage.read(name)).keys()];
    if (keys.length > 0) await storage.write(name, new Map(keys.map((key) => [key, undefined])));
  }
  throw new Error("a storage has no `clear`: records of other pages may be left in it");
}

/** Opens the storages that an app uses by default. */
function openBrowserStorages(): readonly RecordStorage[] {
  const { localStorage, indexedDB } = globalThis as Partial<typeof globalThis>;
  return [
    ...(localStorage ? [openWebStorage(localStorage)] : []),
    ...(indexedDB ? [openIndexedDBStorage()] : []),
  ];
}
