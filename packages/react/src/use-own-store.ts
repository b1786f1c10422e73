import type { Client } from "@sluice/core";
import { useEffect, useInsertionEffect, useState } from "react";
import { createLatest } from "./latest.js";
import { useClient } from "./provider.js";

/** What a component may be given to show by its id. */
interface Attachable {
  attach(id: string): void;
}

/**
 * A store that is one component's own, and reads what its latest render said; `id` is attached whenever it becomes
 * another. Kept in state and not in a memo: a fast refresh runs every memo and effect again, and may neither lose
 * the task that was submitted nor go back to the one that was attached before.
 */
export function useOwnStore<Options, Store extends Attachable>(
  id: string | undefined,
  options: Options,
  create: (client: Client, read: () => Options) => Store,
): Store {
  const client = useClient();
  const [own] = useState(() => createOwn(options, create));
  const store = own.storeOf(client);
  useInsertionEffect(() => own.set(options));
  useEffect(() => own.attach(store, id), [own, store, id]);
  return store;
}

function createOwn<Options, Store extends Attachable>(
  options: Options,
  create: (client: Client, read: () => Options) => Store,
) {
  const { read, set } = createLatest(options);
  const stores = new WeakMap<Client, Store>();
  let attached: { readonly store: Store; readonly id: string | undefined } | undefined;
  return { storeOf, set, attach };

  function storeOf(client: Client): Store {
    const known = stores.get(client);
    if (known) return known;
    const created = create(client, read);
    stores.set(client, created);
    return created;
  }

  function attach(store: Store, id: string | undefined): void {
    if (attached?.store === store && attached.id === id) return;
    attached = { store, id };
    if (id !== undefined) store.attach(id);
  }
}
