import type { Client } from "@sluice/core";
import { callAfter, createStore, toIdleClock } from "@sluice/core/extend";

/** A kind of store that components share by id. */
interface StoreKind<Options, Store> {
  readonly create: (client: Client, readOptions: () => Options) => Store;
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

/** A store and the number of components that hold it. */
interface RegistryEntry<Store> {
  /** The store: the same object while it is registered. */
  readonly value: Store;
  /** Number of holders; 0 for a store that waits for its disposal. */
  readonly holders: number;
}

/**
 * Stores shared by key: an id, or the object of a component without one. The registry keeps a store while it has holders
 * or is busy. After that, the store lingers, unless too many others do.
 */
export interface Registry<Store> {
  /** Returns the store of `key`, and creates it if it is missing. Does not hold it. */
  get(key: unknown, create: () => Store): Store;
  /** Returns the store of `key`, or undefined. */
  peek(key: unknown): Store | undefined;
  /** All stores by their keys: an id, or an object for a component without one. For developer tools. */
  readonly entries: ReadonlyMap<unknown, RegistryEntry<Store>>;
  /** Holds `store` under `key`. Adds it again if it was disposed of. Returns a function that releases it. */
  hold(key: unknown, store: Store): () => void;
  /** Calls `listener` on each `announce`. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void;
  /** Notifies the subscribers that `store` is held. Separate from `hold`, because React forbids updates during `hold`. */
  announce(store: Store): void;
}

/** Time that a store without an id waits, in milliseconds. It covers the moment between two mounts. */
const UNNAMED_LINGER_MS = 1000;

/** Largest number of stores that wait for the next component. Beyond it, the oldest is disposed of. */
const MAX_LINGERING = 100;

/** Creates the registries of one kind of store. */
export function createSharedStores<Options, Store>(
  kind: StoreKind<Options, Store>,
): SharedStores<Options, Store> {
  const registries = new WeakMap<Client, Registry<Store>>();
  return {
    ...kind,
    get(client) {
      const registry = registries.get(client) ?? createRegistry(kind, client);
      registries.set(client, registry);
      return registry;
    },
  };
}

/**
 * Creates a registry that counts the holders of each store. It disposes of a store without holders only after a while, so
 * that a remount, a route change or StrictMode finds the store again.
 */
function createRegistry<Store>(
  { dispose, isBusy, lingerMs }: StoreKind<never, Store>,
  { clock }: Client,
): Registry<Store> {
  interface Entry {
    readonly value: Store;
    holders: number;
    /** Aborts the wait for the disposal. */
    lingering?: AbortController;
  }
  const entries = new Map<unknown, Entry>();
  /** Keys without holders, oldest first. */
  const unheld = new Set<unknown>();
  const { subscribe, flush } = createStore(() => entries.size, { clock });

  return {
    entries,
    peek: (key) => entries.get(key)?.value,
    get(key, create) {
      const known = entries.get(key);
      if (known) return known.value;
      const value = create();
      entries.set(key, { value, holders: 0 });
      linger(key);
      return value;
    },
    hold(key, store) {
      const entry: Entry = entries.get(key) ?? { value: store, holders: 0 };
      entries.set(key, entry);
      entry.lingering?.abort();
      entry.holders += 1;
      unheld.delete(key);
      return () => {
        entry.holders -= 1;
        if (entry.holders > 0) return;
        unheld.add(key);
        linger(key);
        // deferred, because React forbids updates during an unmount
        if (unheld.size > MAX_LINGERING) queueMicrotask(disposeOfOldest);
      };
    },
    subscribe,
    announce: flush,
  };

  function linger(key: unknown): void {
    const entry = entries.get(key);
    if (!entry) return;
    entry.lingering = new AbortController();
    const waitMs = isId(key) ? lingerMs : UNNAMED_LINGER_MS;
    // otherwise a test runner in Node would wait for minutes
    callAfter(toIdleClock(clock), waitMs, entry.lingering.signal, () => {
      if (mustStay(key, entry)) linger(key);
      else remove(key, entry);
    });
  }

  function disposeOfOldest(): void {
    for (const key of unheld) {
      if (unheld.size <= MAX_LINGERING) return;
      const entry = entries.get(key);
      if (entry && !mustStay(key, entry)) remove(key, entry);
    }
  }

  function mustStay(key: unknown, { value }: Entry): boolean {
    return isId(key) && isBusy(value);
  }

  function remove(key: unknown, entry: Entry): void {
    entry.lingering?.abort();
    entries.delete(key);
    unheld.delete(key);
    dispose(entry.value);
    flush();
  }
}

const isId = (key: unknown) => typeof key === "string";
