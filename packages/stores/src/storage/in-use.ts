import type { Scoped } from "../base/user-prefix.js";

/** Clears a store. May return a function to call after the sign-out. */
type Forget = () => unknown;

const inUse = new WeakMap<Scoped, Set<Forget>>();

/** Returns the functions that a sign-out calls, one for each store in use. */
export function getStoresInUse(client: Scoped): Set<Forget> {
  const stores = inUse.get(client) ?? new Set();
  inUse.set(client, stores);
  return stores;
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
  const stores = getStoresInUse(client);
  // a new function, because the same `forget` may be registered twice
  const store = () => forget();
  stores.add(store);
  return () => void stores.delete(store);
}
