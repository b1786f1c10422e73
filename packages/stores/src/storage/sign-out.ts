import { type Client, ConfigurationError, type RecordStorage } from "@sluice/core";
import { assertClient, toError } from "@sluice/core/extend";
import { getStorages } from "./client-storage.js";
import { getStoresInUse, loadForget } from "./in-use.js";

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
export async function signOut(client: Client, { storages = [] }: SignOutOptions = {}): Promise<SignedOut> {
  assertClient(client);
  if (!Array.isArray(storages))
    throw new ConfigurationError(
      "storages: must be a list of storages: signOut(client, { storages: [storage] })",
    );
  const unsent = countUnsent(client);
  const errors = await loadForget().then(
    ({ forget }) => forget(client, getStoresInUse(client), storages),
    (error) => [toError(error)],
  );
  return { unsent, errors };
}

function countUnsent(client: Client): number {
  const storages = [...getStorages(client).own.keys()];
  return storages.reduce((sum, { status }) => sum + (status?.getSnapshot().pending ?? 0), 0);
}
