"use client";
import { type Client, createRegistry, type Registry } from "@sluice/core";

/** Stores that components share by id. */
interface StoreKind<Options, Store> {
  readonly create: (client: Client, read: () => Options) => Store;
  /** Ends what a store has in flight, when no component has shown it for a while. */
  readonly dispose: (store: Store) => void;
  /** Time that a store with an id waits for another component, in milliseconds. */
  readonly lingerMs: number;
}

/** A kind of store, and the stores of that kind that a client has. */
export interface SharedStores<Options, Store> extends StoreKind<Options, Store> {
  readonly of: (client: Client) => Registry<Store>;
}

/** Covers the moment between two mounts; nothing finds a store without an id again. */
const UNNAMED_LINGER_MS = 1000;

/** Creates the stores of one kind: a registry for each client. */
export function sharedStores<Options, Store>(kind: StoreKind<Options, Store>): SharedStores<Options, Store> {
  const registries = new WeakMap<Client, Registry<Store>>();
  return { ...kind, of };

  function of(client: Client): Registry<Store> {
    const known = registries.get(client);
    if (known) return known;
    const registry = createRegistry<Store>({
      dispose: kind.dispose,
      lingerMs: (key) => (typeof key === "string" ? kind.lingerMs : UNNAMED_LINGER_MS),
      clock: client.clock,
    });
    registries.set(client, registry);
    return registry;
  }
}
