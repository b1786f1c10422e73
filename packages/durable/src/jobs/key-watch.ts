import type { HostContext } from "@sluice/worker-proxy/plugin";
import { shareByHost } from "../shared/share-by-host.js";
import type { JobStatus, OwnerChange } from "./readings.js";
import type { JobStore } from "./store.js";

/** Pause between a change and the read of its rows, in milliseconds. It merges the reads of several changes. */
const SOON_MS = 5;

/** Interval at which readers in other processes read rows without a notification, in milliseconds: one may be lost. */
const LOOK_MS = 2000;

/** Receives the row of a job: null if the job does not exist, undefined if its row could not be read. */
type OnStatus = (status: JobStatus | null | undefined) => void;

/** Reads changes of a key's rows once, for the owners of its jobs and for readers of jobs without an owner here. */
class KeyWatch {
  readonly owners = new Map<string, (change: OwnerChange) => void>();
  readonly readers = new Map<string, OnStatus>();
  readonly #context: HostContext;
  readonly #store: JobStore;
  readonly #unsubscribe: () => void;
  #soon: ReturnType<typeof setTimeout> | undefined;
  #interval: ReturnType<typeof setInterval> | undefined;
  #reading = Promise.resolve();

  constructor(context: HostContext, store: JobStore) {
    this.#context = context;
    this.#store = store;
    this.#unsubscribe = context.subscribe(() => {
      this.#soon ??= setTimeout(() => {
        this.#soon = undefined;
        this.#read();
      }, SOON_MS);
    });
  }

  /** Starts or ends the reads without a notification. Owners don't need them: they renew their leases. */
  update(): void {
    if (this.readers.size > 0) this.#interval ??= setInterval(() => this.#read(), LOOK_MS);
    else {
      clearInterval(this.#interval);
      this.#interval = undefined;
    }
  }

  close(): void {
    this.#unsubscribe();
    clearTimeout(this.#soon);
  }

  /** Reads one at a time, so that an older state never replaces a newer one. */
  #read(): void {
    this.#reading = this.#reading.then(async () => {
      await Promise.all([this.#readForOwners(), this.#readForReaders()]);
    });
  }

  async #readForOwners(): Promise<void> {
    if (this.owners.size === 0) return;
    const { host, key } = this.#context;
    // after a failure each owner sees the same change when it renews its lease
    const changes = await host.run(key, this.#store.changes, null).catch(() => []);
    for (const change of changes) this.owners.get(change.id)?.(change);
  }

  async #readForReaders(): Promise<void> {
    const ids = [...this.readers.keys()];
    if (ids.length === 0) return;
    const { host, key } = this.#context;
    const jobs = await host.run(key, this.#store.statuses, { ids }).catch(() => undefined);
    for (const id of ids) this.readers.get(id)?.(jobs && (jobs.find((status) => status.id === id) ?? null));
  }
}

/** Adds a listener to the watch of a key. Returns a function that removes the listener. */
function watch<Listener>(
  context: HostContext,
  store: JobStore,
  id: string,
  listener: Listener,
  choose: (watch: KeyWatch) => Map<string, Listener>,
): () => void {
  const shared = shareByHost<KeyWatch>(context.host, "watch", store.kind, context.key);
  const watch = shared.get() ?? new KeyWatch(context, store);
  shared.set(watch);
  const listeners = choose(watch);
  listeners.set(id, listener);
  watch.update();
  return () => {
    if (listeners.get(id) === listener) listeners.delete(id);
    watch.update();
    if (watch.owners.size + watch.readers.size > 0 || shared.get() !== watch) return;
    watch.close();
    shared.delete(watch);
  };
}

/** Calls `onChange` when a job must stop or gets a reader in another process. Returns the unsubscribe function. */
export function watchOwned(
  context: HostContext,
  store: JobStore,
  id: string,
  onChange: (change: OwnerChange) => void,
): () => void {
  return watch(context, store, id, onChange, ({ owners }) => owners);
}

/** Calls `onStatus` after each change of the key, and at an interval. Returns the unsubscribe function. */
export function watchStatus(
  context: HostContext,
  store: JobStore,
  id: string,
  onStatus: OnStatus,
): () => void {
  return watch(context, store, id, onStatus, ({ readers }) => readers);
}
