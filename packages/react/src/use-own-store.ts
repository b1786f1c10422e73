"use client";
import type { Client } from "@sluice/core";
import { useEffect, useState } from "react";
import { useClient } from "./provider.js";
import { useLatest } from "./use-latest.js";

/** A store that can show a task or an asset by its id. */
interface Attachable {
  attach(id: string): void;
}

/**
 * Creates a store for one component, which reads the options of the latest render. `id` is attached when it changes,
 * but not when effects run again: a newer task stays.
 */
export function useOwnStore<Options, Store extends Attachable>(
  id: string | undefined,
  options: Options,
  create: (client: Client, read: () => Options) => Store,
): Store {
  const client = useClient();
  const store = useLatest(options, create).storeOf(client);
  const [attached] = useState<{ to?: Store; id?: string | undefined }>(() => ({}));
  useEffect(() => {
    if (attached.to === store && attached.id === id) return;
    Object.assign(attached, { to: store, id });
    if (id !== undefined) store.attach(id);
  }, [attached, store, id]);
  return store;
}
