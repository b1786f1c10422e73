import { type Client, ConfigurationError } from "@sluice/core";
import * as React from "react";
import { useEffect, useInsertionEffect } from "react";
import { useClient } from "./provider.js";
import type { SharedStores } from "./shared-stores.js";
import { useLatest } from "./use-latest.js";

/** A store that several components share, each with its own options. */
interface Shareable<Options, Store> {
  withOptions(readOptions: () => Options): Store;
}

/**
 * Returns true on a server, where one process renders for many users, so stores must not be shared by id. Evaluated at
 * each use, because a test may create its page after this module has loaded.
 */
const isOnServer = () => typeof window === "undefined";

/**
 * An effect that is cleaned up only when its component unmounts. `<Activity>` cleans up all other effects while it
 * hides a component. Older versions of React may skip insertion effects of a suspended component, so they use an
 * ordinary effect.
 */
const useLifetime = "Activity" in React ? useInsertionEffect : useEffect;

/**
 * Finds or creates the store with this `id`. Without an `id`, the store belongs to the component. Its methods use the
 * options of this component's latest render. The component holds the store until it unmounts.
 */
export function useSharedStore<Options, Store extends Shareable<Options, Store>>(
  stores: SharedStores<Options, Store>,
  id: string | undefined,
  options: Options,
): Store {
  const client = useClient();
  if (typeof options !== "object") throw new ConfigurationError("the options are missing: give { model: … }");
  const latest = useLatest(options, (shared: Store, read) => shared.withOptions(read));
  const key = id ?? latest;
  const registry = stores.get(client);
  const create = () => createStore(stores, client, options, latest.readOptions);
  const shared = isOnServer() ? create() : registry.get(key, create);
  useLifetime(() => registry.hold(key, shared), [registry, key, shared]);
  useEffect(() => registry.announce(shared), [registry, shared]);
  return latest.getStore(shared);
}

/**
 * Creates a store with the options of this render, which is not committed yet. After that, `read` returns the latest
 * options.
 */
function createStore<Options, Store>(
  stores: SharedStores<Options, Store>,
  client: Client,
  options: Options,
  readOptions: () => Options,
): Store {
  let isCreated = false;
  const store = stores.create(client, () => (isCreated ? readOptions() : options));
  isCreated = true;
  return store;
}
