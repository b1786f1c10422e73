import type { RecordStorage } from "@sluice/core";
import {
  addUserPrefix,
  formatUserPrefix,
  isRefusal,
  type Scoped,
  systemClock,
  toError,
} from "@sluice/core/internal";
import { FORGOTTEN, NOTICE, storagesOf } from "./client-storages.js";
import { openIndexedDBStorage } from "./indexed-db.js";
import { waitForStorage } from "./wait.js";
import { openWebStorage } from "./web.js";

/* Loaded when a user signs out. */

/** Beginnings of the names of all collections, for a client without a scope. */
const COLLECTIONS = [
  "batches",
  "chat",
  "conversations",
  "drafts",
  "remote",
  "uploads",
  "video-tasks",
  FORGOTTEN,
];

/**
 * Removes all that a client's scope has stored, in the storages that the client has used in this page, in those that are
 * given, and in the default ones of the browser. Other tabs do the same. Never rejects.
 *
 * @param stores those in use
 * @returns the errors of what could not be removed; none if nothing is left
 */
export async function forget(
  client: Scoped,
  stores: Iterable<() => unknown>,
  given: readonly RecordStorage[],
): Promise<readonly Error[]> {
  const used = [...storagesOf(client).own.keys(), ...given];
  for (const storage of new Set(used)) await tellOtherTabs(client, storage);
  const defaults = browserStorages();
  const left = await forgetHere(client, stores, [...used, ...defaults]);
  return left.flatMap(({ storage, error }) => {
    // a storage that the browser refuses, and that was never used, holds nothing
    return defaults.includes(storage) && isRefusal(error) ? [] : toError(error);
  });
}

/** Forgets the user in this tab, and removes it from storages. Returns what could not be removed. */
export async function forgetHere(
  client: Scoped,
  stores: Iterable<() => unknown>,
  storages: readonly RecordStorage[],
): Promise<readonly { readonly storage: RecordStorage; readonly error: unknown }[]> {
  const known = storagesOf(client);
  if (known.isForgetting) return [];
  known.isForgetting = true;
  const left: { storage: RecordStorage; error: unknown }[] = [];
  try {
    const reopen = [...stores].map((forget) => forget());
    // writes that were begun must not come after the removal
    await settledInTime([...known.pending]);
    for (const storage of new Set(storages))
      await waitForStorage(systemClock, () => drop(client, storage)).catch((error) =>
        left.push({ storage, error }),
      );
    for (const open of reopen) if (typeof open === "function") open();
  } finally {
    known.isForgetting = false;
  }
  return left;
}

async function settledInTime(writes: readonly Promise<unknown>[]): Promise<void> {
  const all = Promise.allSettled(writes);
  await waitForStorage(systemClock, () => all).catch(() => {});
}

/** Posts the notice. A storage that can only pass what it keeps keeps it until the removal. */
async function tellOtherTabs(client: Scoped, storage: RecordStorage): Promise<void> {
  const name = addUserPrefix(client, FORGOTTEN);
  const known = storagesOf(client);
  // by which this tab knows its own notice
  known.sender ??= `${Math.random()}`;
  const notice = new Map([[NOTICE, known.sender]]);
  try {
    if (storage.pass) storage.pass(name, notice);
    else await waitForStorage(systemClock, () => storage.write(name, notice));
  } catch {
    // the removal fails, too, and reports it
  }
}

async function drop(client: Scoped, storage: RecordStorage): Promise<void> {
  const { user: scope } = client;
  const names = scope === undefined ? COLLECTIONS : [formatUserPrefix(scope)];
  if (storage.drop) for (const name of names) await storage.drop(name);
  else await dropKnown(client, storage);
}

/** Removes what this page knows of a storage that can't list its collections, and says that there may be more. */
async function dropKnown(client: Scoped, storage: RecordStorage): Promise<void> {
  const conversations = await storage.read(addUserPrefix(client, "conversations"));
  const names = new Set(storagesOf(client).collections);
  for (const id of conversations.keys()) names.add(addUserPrefix(client, `chat/${id}`));
  for (const name of COLLECTIONS) names.add(addUserPrefix(client, name));
  for (const name of names) {
    const keys = [...(await storage.read(name)).keys()];
    if (keys.length > 0) await storage.write(name, new Map(keys.map((key) => [key, undefined])));
  }
  throw new Error("a storage has no `drop`: what other pages have kept there may be left");
}

/** Storages that the hooks use where an app names none. */
function browserStorages(): readonly RecordStorage[] {
  const { localStorage, indexedDB } = globalThis as Partial<typeof globalThis>;
  return [
    ...(localStorage ? [openWebStorage(localStorage)] : []),
    ...(indexedDB ? [openIndexedDBStorage()] : []),
  ];
}
