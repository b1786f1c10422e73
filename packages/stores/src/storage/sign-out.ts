import { type Client, ConfigurationError, type RecordStorage } from "@sluice/core";
import { noteOptions, systemClock, toError } from "@sluice/core/extend";
import { isRefusal } from "../base/platform-limits.js";
import { addUserPrefix, type UserClient } from "../base/user-prefix.js";
import { FORGOTTEN, forgetUserData, getStorageUse, SIGN_OUT } from "./forget.js";
import { openIndexedDBStorage } from "./indexed-db.js";
import { waitForStorage } from "./wait.js";
import { openWebStorage } from "./web.js";

/** Options of {@link signOut}. */
export interface SignOutOptions {
  /**
   * Other storages that may have records of the user.
   *
   * @default the storages that this client has used in this page, and the browser's storages with their default names
   */
  readonly storages?: readonly RecordStorage[] | undefined;
}

/** Result of {@link signOut}. */
export interface SignedOut {
  /** Number of records that a storage had not sent to its server. They are lost. 0 if no storage has a server. */
  readonly unsent: number;
  /** Errors of failed removals; empty if no record is left. */
  readonly errors: readonly Error[];
}

/**
 * Removes all data of this client's `user` from the browser, stops its responses and clears the stores in use. Other tabs
 * of the user do the same a moment later. Requests in flight are aborted and may be billed. Data of the gateway and the
 * proxy stays: nothing is written or deleted on a server. Without a `user` it removes the data of clients without a
 * `user`. It can be called again, e.g. after the page was closed in between.
 *
 * It clears the storages that this client has used in this page, `indexedDBStorage()` and `webStorage(() =>
 * localStorage)` with their default names, and `storages`. Never rejects.
 *
 * @example
 * ```ts
 * const { errors } = await signOut(client);
 * if (errors.length > 0) console.warn("Some data of this browser could not be removed", errors);
 * ```
 */
export async function signOut(client: Client, options: SignOutOptions = {}): Promise<SignedOut> {
  noteOptions("signOut", options, client);
  const { storages = [] } = options;
  if (!Array.isArray(storages))
    throw new ConfigurationError(
      "storages: must be a list of storages: signOut(client, { storages: [storage] })",
    );
  const usedStorages = [...getStorageUse(client).clientStorages.keys()];
  const unsent = usedStorages.reduce((sum, { status }) => sum + (status?.getSnapshot().pending ?? 0), 0);
  const used = [...usedStorages, ...storages];
  for (const storage of new Set(used)) await notifyOtherTabs(client, storage);
  const defaults = openBrowserStorages();
  const failures = await forgetUserData(client, [...used, ...defaults]);
  const errors = failures.flatMap(({ storage, error }) =>
    // an unused storage that the browser refuses is empty
    defaults.includes(storage) && isRefusal(error) ? [] : toError(error),
  );
  return { unsent, errors };
}

/** Tells other tabs about the sign-out. A storage without `broadcast` stores the record until the removal. */
async function notifyOtherTabs(client: UserClient, storage: RecordStorage): Promise<void> {
  const name = addUserPrefix(client, FORGOTTEN);
  const known = getStorageUse(client);
  // lets this tab recognize its own sign-out
  known.sender ??= `${Math.random()}`;
  const changes = new Map([[SIGN_OUT, known.sender]]);
  try {
    if (storage.broadcast) storage.broadcast(name, changes);
    else await waitForStorage(systemClock, () => storage.write(name, changes));
  } catch {
    // the removal fails as well, and reports its error
  }
}

/** Opens the storages that an app uses by default. A browser may refuse even the access to `localStorage`. */
function openBrowserStorages(): readonly RecordStorage[] {
  return [
    ...("localStorage" in globalThis ? [openWebStorage(() => localStorage)] : []),
    ...("indexedDB" in globalThis ? [openIndexedDBStorage()] : []),
  ];
}
