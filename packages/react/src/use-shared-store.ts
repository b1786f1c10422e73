"use client";
import * as React from "react";
import { useEffect, useInsertionEffect } from "react";
import { useClient } from "./provider.js";
import type { SharedStores } from "./shared-stores.js";
import { useLatest } from "./use-latest.js";

/** A store whose verbs can use the options of several components. */
interface Shareable<Options, Store> {
  withOptions(read: () => Options): Store;
}

/** A server renders for many people in one process: a store shared by id there would be shared among them. */
const onServer = typeof window === "undefined";

/**
 * An effect that is cleaned up only when its component is gone for good: `<Activity>` cleans up all effects but these
 * while it hides a component. A React without `Activity` may forget insertion effects of a suspended component.
 */
const useLifetime = "Activity" in React ? useInsertionEffect : useEffect;

/**
 * The store that this component shares by `id`, or its own without one. Its verbs use the options of this component's
 * latest render. The store is held until the component is gone for good.
 */
export function useSharedStore<Options, Store extends Shareable<Options, Store>>(
  stores: SharedStores<Options, Store>,
  id: string | undefined,
  options: Options,
): Store {
  const client = useClient();
  const own = useLatest(options, (shared: Store, read) => shared.withOptions(read));
  const key = id ?? own;
  const registry = stores.of(client);
  const create = () => stores.create(client, own.read);
  const shared = onServer ? create() : registry.get(key, create);
  useLifetime(() => registry.hold(key, shared), [registry, key, shared]);
  useEffect(() => registry.announce(shared), [registry, shared]);
  return own.storeOf(shared);
}
