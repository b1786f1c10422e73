import { type Client, ConfigurationError, type RecordStorage } from "@sluice/core";
import { assertClient, toError } from "@sluice/core/internal";
import { storagesOf } from "./client-storages.js";
import { loadForgetting, storesInUse } from "./in-use.js";

/** Options of {@link signOut}. */
export interface SignOutOptions {
  /**
   * Other storages that may have records of the user.
   *
   * @default the storages that this client has used in this page, and those of the browser with their default names
   */
  readonly storages?: readonly RecordStorage[] | undefined;
}

/** Result of {@link signOut}. */
export interface SignedOut {
  /** Number of records that a storage had not sent to its server. They are lost. 0 for a storage of this browser alone. */
  readonly unsent: number;
  /** Errors of what could not be removed; empty if nothing is left. */
  readonly errors: readonly Error[];
}

/**
 * Removes everything that this client's `user` has stored in the browser, and stops its responses. Stores in use are
 * empty then. Other tabs of the user do the same a moment later. Requests in flight are ended, and may be billed; what
 * the gateway and the proxy store stays: nothing is written or deleted on a server. Without a `user` it removes what
 * clients without one have stored. It can be called again, for example after the page was closed in between.
 *
 * It reaches the storages that this client has used in this page, `indexedDBStorage()` and `webStorage(() =>
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
  const errors = await loadForgetting().then(
    ({ forget }) => forget(client, storesInUse(client), storages),
    (error) => [toError(error)],
  );
  return { unsent, errors };
}

function countUnsent(client: Client): number {
  const { own, collections } = storagesOf(client);
  const counts = [...own.keys()].flatMap(({ devices }) =>
    devices ? [...collections].map((name) => devices.status(name).getSnapshot().unsent) : [],
  );
  return counts.reduce((sum, count) => sum + count, 0);
}
