import { type Client, ConfigurationError } from "@sluice/core";
import * as React from "react";
import { useEffect, useInsertionEffect } from "react";
import { useClient } from "./provider.js";
import type { SharedStores } from "./shared-stores.js";
import { useLatest } from "./use-latest.js";

/** A store that can make its verbs use the options of each of several components. */
interface Shareable<Options, Store> {
  withOptions(read: () => Options): Store;
}

/**
 * Returns true on a server. One process renders for many users there, so stores must not be shared by id. Read at each
 * use: a test may make its page after this module was loaded.
 */
const isOnServer = () => typeof window === "undefined";

/**
 * An effect that is cleaned up only when its component is unmounted. `<Activity>` cleans up all other effects while it
 * hides a component. A React without `Activity` may skip insertion effects of a suspended component, so that an
 * ordinary effect is used there.
 */
const useLifetime = "Activity" in React ? useInsertionEffect : useEffect;

/**
 * Finds or creates the store with this `id`; without an `id` the store belongs to the component. Its verbs use the
 * options of this component's latest render. The store is held until the component is unmounted.
 */
export function useSharedStore<Options, Store extends Shareable<Options, Store>>(
  stores: SharedStores<Options, Store>,
  id: string | undefined,
  options: Options,
): Store {
  const client = useClient();
  if (typeof options !== "object") throw new ConfigurationError("the options are missing: give { model: … }");
  const own = useLatest(options, (shared: Store, read) => shared.withOptions(read));
  const key = id ?? own;
  const registry = stores.of(client);
  const create = () => createFor(stores, client, options, own.read);
  const shared = isOnServer() ? create() : registry.get(key, create);
  useLifetime(() => registry.hold(key, shared), [registry, key, shared]);
  useEffect(() => registry.announce(shared), [registry, shared]);
  return own.storeOf(shared);
}

/**
 * Creates a store with the options of this render, which is not committed yet. Later, `read` returns the newest
 * options.
 */
function createFor<Options, Store>(
  stores: SharedStores<Options, Store>,
  client: Client,
  options: Options,
  read: () => Options,
): Store {
  let isCreated = false;
  const store = stores.create(client, () => (isCreated ? read() : options));
  isCreated = true;
  return store;
}
