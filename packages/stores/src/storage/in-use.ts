import type { Scoped } from "@sluice/core/internal";

/** Forgets what a store has, and may return a function that is called at the end. */
type Forget = () => unknown;
const inUse = new WeakMap<Scoped, Set<Forget>>();

/** Returns the functions that `signOut` calls: one for each store in use. */
export function storesInUse(client: Scoped): Set<Forget> {
  const stores = inUse.get(client) ?? new Set();
  inUse.set(client, stores);
  return stores;
}

/**
 * Lets `signOut` reach a store. `forget` removes all that the store has, and may return a function that is called
 * at the end. Returns a function that ends it: a store that is not in use has nothing to forget.
 */
export function onForget(client: Scoped, forget: Forget): () => void {
  const stores = storesInUse(client);
  // the same function may come twice
  const store = () => forget();
  stores.add(store);
  return () => void stores.delete(store);
}

/**
 * Loads the code that removes all that a scope has stored. The import stands in this file, which all stores share and
 * which that code does not import: otherwise bundlers put more into the first file.
 */
export function loadForgetting(): Promise<typeof import("./forget.js")> {
  return import("./forget.js");
}
