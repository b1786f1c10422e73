import type { HostContext } from "@sluice/worker-proxy";
import { shareByHost } from "../shared/share-by-host.js";
import { type Feed, RowPages } from "./feed.js";
import type { Part } from "./parts.js";
import { Changes, Readers } from "./readers.js";
import type { JobStatus } from "./readings.js";
import { isOpen } from "./states.js";
import type { JobStore } from "./store.js";
import type { Tend } from "./tend.js";

/** Interval for reading rows without a notification, in milliseconds, because a notification may be lost. */
const LOOK_MS = 2000;
/** Number of reads between two writes that report a reader to the owner. */
const LOOKS_PER_NOTE = 5;

/** Reads the rows of a response that has ended, or whose job another process owns. */
export class RowFeed implements Feed {
  readonly changes = new Changes();
  readonly readers: Readers;
  readonly isLive = false;
  readonly #context: HostContext;
  readonly #store: JobStore;
  readonly #id: string;
  readonly #tend: Tend;
  readonly #rows: RowPages;
  #status: Promise<JobStatus | null> | undefined;
  #stop: (() => void) | undefined;
  #looks = 0;
  #aliveUntil = Number.POSITIVE_INFINITY;

  constructor(context: HostContext, store: JobStore, id: string, tend: Tend, onLeft: () => void) {
    this.#context = context;
    this.#store = store;
    this.#id = id;
    this.#tend = tend;
    this.#rows = new RowPages(context, store, id);
    this.readers = new Readers(this.changes, () => {
      if (this.readers.count > 0) return;
      this.#stop?.();
      onLeft();
    });
  }

  readStatus(): Promise<JobStatus | null> {
    this.#status ??= this.#loadStatus();
    return this.#status;
  }

  async readPart(after: number): Promise<Part | "missing" | undefined> {
    const status = await this.readStatus();
    if (status && after >= status.lastId)
      return status.isWhole || isOpen(status.state) ? undefined : "missing";
    return (await this.#rows.read(after)) ?? "missing";
  }

  async #loadStatus(): Promise<JobStatus | null> {
    const { host, key } = this.#context;
    const loading = host.run(key, this.#store.status, { id: this.#id });
    // the next reader tries again
    loading.catch(() => {
      this.#status = undefined;
    });
    const status = await loading;
    this.#aliveUntil = status?.aliveUntil ?? this.#aliveUntil;
    if (status && isOpen(status.state)) this.#follow();
    else this.#stop?.();
    return status;
  }

  /** Reads the rows of an open job after each change and at an interval. */
  #follow(): void {
    if (this.#stop || this.readers.count === 0) return;
    const unsubscribe = this.#context.subscribe(() => this.#look());
    const timer = setInterval(() => this.#lookAgain(), LOOK_MS);
    this.#stop = () => {
      unsubscribe();
      clearInterval(timer);
      this.#stop = undefined;
    };
    void this.#attend();
  }

  #lookAgain(): void {
    this.#looks += 1;
    if (this.#looks % LOOKS_PER_NOTE === 0 || Date.now() > this.#aliveUntil) void this.#attend();
    this.#look();
  }

  #look(): void {
    this.#status = undefined;
    this.#rows.clear();
    this.changes.notify();
  }

  /** Stores that the response has a reader, so that the owner stores events early. */
  async #attend(): Promise<void> {
    const { host, key } = this.#context;
    try {
      const state = await host.run(key, this.#store.attend, { id: this.#id });
      if (state === "lost") await this.#tend(this.#context, this.#id);
      // the owner did not know of this reader, so it published no change
      if (state === "ended") this.#look();
    } catch {
      // the next read tries again
    }
  }
}

/** Opens the rows of a response. All readers of a process or object share the feed. */
export function openRowFeed(context: HostContext, store: JobStore, id: string, tend: Tend): RowFeed {
  const shared = shareByHost<RowFeed>(context.host, "rows", store.options.kind, context.key, id);
  const feed = shared.get() ?? new RowFeed(context, store, id, tend, () => shared.delete(feed));
  shared.set(feed);
  return feed;
}
