import type { HostContext } from "@sluice/worker-proxy/plugin";
import { shareByHost } from "../shared/share-by-host.js";
import type { StoredJob } from "./readings.js";
import type { JobStore } from "./store.js";

/** Pause between a change and the read of its rows, in milliseconds. It merges the reads of several changes. */
const SOON_MS = 5;

/** Interval at which readers in other processes read rows without a notification, in milliseconds: one may be lost. */
const LOOK_MS = 2000;

/** The owner of a job, or a reader whose job has no owner in this process. */
interface Listener {
  readonly id: string;
  /** True for a reader. An owner needs no reads at an interval: it renews its lease. */
  readonly isReader: boolean;
  /** Receives the row of the job: null if the job does not exist, undefined if its row could not be read. */
  onChange(job: StoredJob | null | undefined): void;
}

/** Reads the rows of a key's jobs after each change of the key, once for all listeners of a process. */
class KeyWatch {
  readonly listeners = new Set<Listener>();
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

  /** Starts or ends the reads at an interval. Call it after each change of the listeners. */
  update(): void {
    if ([...this.listeners].some(({ isReader }) => isReader))
      this.#interval ??= setInterval(() => this.#read(), LOOK_MS);
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
      const { host, key } = this.#context;
      const ids = [...new Set([...this.listeners].map(({ id }) => id))];
      const jobs = await host.run(key, this.#store.jobs, { ids }).catch(() => undefined);
      for (const { id, onChange } of this.listeners)
        if (ids.includes(id)) onChange(jobs && (jobs.find((job) => job.id === id) ?? null));
    });
  }
}

/** Calls a listener after each change of the key. Returns the unsubscribe function. */
export function watchJob(context: HostContext, store: JobStore, listener: Listener): () => void {
  const shared = shareByHost<KeyWatch>(context.host, "watch", store.kind, context.key);
  const watch = shared.get() ?? new KeyWatch(context, store);
  shared.set(watch);
  watch.listeners.add(listener);
  watch.update();
  return () => {
    watch.listeners.delete(listener);
    watch.update();
    if (watch.listeners.size > 0 || shared.get() !== watch) return;
    watch.close();
    shared.delete(watch);
  };
}
