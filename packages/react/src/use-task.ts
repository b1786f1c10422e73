import type { Client, Store } from "@sluice/core";
import { useEffect, useState, useSyncExternalStore } from "react";
import { useClient } from "./provider.js";
import { useLatest } from "./use-latest.js";

/** A store that can show a task or an asset by its id. */
interface TaskStore extends Store<object> {
  attach(id: string): void;
}

/** State of a store and its methods, which keep their identity. */
type Shown<Task extends TaskStore> = ReturnType<Task["getSnapshot"]> & Omit<Task, keyof TaskStore>;

/**
 * Shows a task in the store of one component. The store reads the options of the latest render. Attaches `id` when it
 * changes, but not when effects rerun, so a newer task stays. Polls only while enabled.
 */
export function useTask<Options, Task extends TaskStore>(
  id: string | undefined,
  options: Options,
  create: (client: Client, read: () => Options) => Task,
  enabled = true,
): Shown<Task> {
  const client = useClient();
  const store = useLatest(options, create).getStore(client);
  const [attached] = useState<{ store?: Task; id?: string | undefined }>(() => ({}));
  useEffect(() => {
    if (attached.store === store && attached.id === id) return;
    Object.assign(attached, { store, id });
    if (id !== undefined) store.attach(id);
  }, [attached, store, id]);
  const { getSnapshot, subscribe, attach: _, ...methods } = store;
  const state = useSyncExternalStore(enabled ? subscribe : subscribeNever, getSnapshot, getSnapshot);
  return { ...state, ...methods } as Shown<Task>;
}

const subscribeNever = () => () => {};
