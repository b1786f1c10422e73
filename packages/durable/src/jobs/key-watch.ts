import type { HostContext } from "@sluice/worker-proxy";
import { shareByHost } from "../shared/share-by-host.js";
import type { OwnerChange } from "./readings.js";
import type { JobStore } from "./store.js";

/** Pause between a change and the read of its rows, in milliseconds. It merges the reads of several changes. */
const SOON_MS = 5;

/** Reads changes of a key's rows once, and passes them to the owners of its jobs. */
class KeyWatch {
  readonly owners = new Map<string, (change: OwnerChange) => void>();
  readonly #context: HostContext;
  readonly #store: JobStore;
  readonly #unsubscribe: () => void;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(context: HostContext, store: JobStore) {
    this.#context = context;
    this.#store = store;
    this.#unsubscribe = context.subscribe(() => {
      this.#timer ??= setTimeout(() => this.#read(), SOON_MS);
    });
  }

  close(): void {
    this.#unsubscribe();
    clearTimeout(this.#timer);
  }

  async #read(): Promise<void> {
    this.#timer = undefined;
    const { host, key } = this.#context;
    try {
      for (const change of await host.run(key, this.#store.changes, null))
        this.owners.get(change.id)?.(change);
    } catch {
      // each owner sees the same change when it renews its lease
    }
  }
}

/** Calls `onChange` when a job must stop or gets a reader in another process. Returns the unsubscribe function. */
export function watchJob(
  context: HostContext,
  store: JobStore,
  id: string,
  onChange: (change: OwnerChange) => void,
): () => void {
  const watches = shareByHost<KeyWatch>(context.host, "watch", store.options.kind, context.key);
  const watch = watches.get() ?? new KeyWatch(context, store);
  watches.set(watch);
  watch.owners.set(id, onChange);
  return () => {
    if (watch.owners.get(id) === onChange) watch.owners.delete(id);
    if (watch.owners.size > 0 || watches.get() !== watch) return;
    watch.close();
    watches.delete(watch);
  };
}
