import type { Client } from "@sluice/core";
import { createRegistry, type Registry } from "./registry.js";

/** A kind of store that components share by id. */
interface StoreKind<Options, Store> {
  readonly create: (client: Client, read: () => Options) => Store;
  /** Disposes of a store that no component has shown for `lingerMs`. */
  readonly dispose: (store: Store) => void;
  /** Returns true while a store is busy. A busy store with an id stays without components. */
  readonly isBusy: (store: Store) => boolean;
  /** Time that a store with an id waits for the next component, in milliseconds. */
  readonly lingerMs: number;
}

/** A kind of store, with a registry for each client. */
export interface SharedStores<Options, Store> extends StoreKind<Options, Store> {
  readonly get: (client: Client) => Registry<Store>;
}

/** Time that a store without an id waits, in milliseconds. It covers the moment between two mounts. */
const UNNAMED_LINGER_MS = 1000;

/** Largest number of stores that wait for the next component. */
const MAX_LINGERING = 100;

/** Creates the registries of one kind of store. */
export function createSharedStores<Options, Store>(
  kind: StoreKind<Options, Store>,
): SharedStores<Options, Store> {
  const registries = new WeakMap<Client, Registry<Store>>();
  return { ...kind, get: getRegistry };

  function getRegistry(client: Client): Registry<Store> {
    const known = registries.get(client);
    if (known) return known;
    const registry = createRegistry<Store>({
      dispose: kind.dispose,
      lingerMs: (key) => (isId(key) ? kind.lingerMs : UNNAMED_LINGER_MS),
      isBusy: (key, store) => isId(key) && kind.isBusy(store),
      max: MAX_LINGERING,
      clock: client.clock,
    });
    registries.set(client, registry);
    return registry;
  }
}

const isId = (key: unknown) => typeof key === "string";
