import type { HostContext } from "@sluice/worker-proxy/plugin";
import { shareByHost } from "../shared/share-by-host.js";
import { type Feed, RowPages } from "./feed.js";
import { watchStatus } from "./key-watch.js";
import type { Part } from "./parts.js";
import { Changes, Readers } from "./readers.js";
import type { JobStatus } from "./readings.js";
import { isOpen } from "./states.js";
import type { JobStore } from "./store.js";
import type { Tend } from "./tend.js";

/** Interval at which a reader is reported to the owner of its job, in milliseconds. */
const ATTEND_MS = 10_000;

/** Reads the rows of a response that has ended, or that no owner in this process writes. */
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
  #unwatch = () => {};
  #attendedAt = 0;

  constructor(context: HostContext, store: JobStore, id: string, tend: Tend, onLeft: () => void) {
    this.#context = context;
    this.#store = store;
    this.#id = id;
    this.#tend = tend;
    this.#rows = new RowPages(context, store, id);
    this.readers = new Readers(this.changes, () => {
      this.#unwatch();
      if (this.readers.count === 0) onLeft();
      else this.#unwatch = watchStatus(context, store, id, (status) => this.#note(status));
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
    this.#attend(status);
    return status;
  }

  /** @param status undefined if it could not be read, so that the readers try it themselves */
  #note(status: JobStatus | null | undefined): void {
    this.#status = status === undefined ? undefined : Promise.resolve(status);
    this.#rows.clear();
    this.changes.notify();
    if (status) this.#attend(status);
  }

  /** Reports a reader to the owner of an open job, so that it stores events early. Settles a lost job. */
  #attend(status: JobStatus | null): void {
    const now = Date.now();
    const isDue = status && (now > status.aliveUntil || now - this.#attendedAt >= ATTEND_MS);
    if (!isDue || !isOpen(status.state) || this.readers.count === 0) return;
    this.#attendedAt = now;
    const { host, key } = this.#context;
    const attended = host.run(key, this.#store.attend, { id: this.#id }).then((state) => {
      if (state === "lost") return this.#tend(this.#context, this.#id);
      // the owner did not know of this reader, so it published no change
      if (state === "ended") this.#note(undefined);
    });
    // the next read tries again
    attended.catch(() => {});
  }
}

/** Opens the rows of a response. All readers of a process or object share the feed. */
export function openRowFeed(context: HostContext, store: JobStore, id: string, tend: Tend): RowFeed {
  const shared = shareByHost<RowFeed>(context.host, "rows", store.kind, context.key, id);
  const feed = shared.get() ?? new RowFeed(context, store, id, tend, () => shared.delete(feed));
  shared.set(feed);
  return feed;
}
