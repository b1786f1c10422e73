import type { HostContext } from "@sluice/worker-proxy";
import type { OwnerNews } from "./readings.js";
import type { JobStore } from "./store.js";

/** Time after which the rows of a key are read again after a change, in milliseconds: changes that come together are one read. */
const SOON_MS = 5;

/** Reads what the owners of a key's jobs have to see after a change, once for all of them. */
class KeyWatch {
  readonly owners = new Map<string, (news: OwnerNews) => void>();
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
      for (const news of await host.run(key, this.#store.news, null)) this.owners.get(news.id)?.(news);
    } catch {
      // each owner sees the same with its next sign of life
    }
  }
}

const places = new WeakMap<object, Map<string, KeyWatch>>();

/** Calls `onNews` when somebody stops a job of this place, or reads it in another place. Returns the function that ends it. */
export function watchJob(
  context: HostContext,
  store: JobStore,
  id: string,
  onNews: (news: OwnerNews) => void,
): () => void {
  const watches = places.get(context.host) ?? new Map<string, KeyWatch>();
  places.set(context.host, watches);
  const name = JSON.stringify([store.options.kind, context.key]);
  const watch = watches.get(name) ?? new KeyWatch(context, store);
  watches.set(name, watch);
  watch.owners.set(id, onNews);
  return () => {
    if (watch.owners.get(id) === onNews) watch.owners.delete(id);
    if (watch.owners.size > 0 || watches.get(name) !== watch) return;
    watch.close();
    watches.delete(name);
  };
}
