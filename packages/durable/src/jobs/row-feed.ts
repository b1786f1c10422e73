import type { HostContext } from "@sluice/worker-proxy/plugin";
import { shareByHost } from "../shared/share-by-host.js";
import { checkJob } from "./check.js";
import { watchJob } from "./key-watch.js";
import { readStored } from "./live.js";
import type { JobsContext } from "./options.js";
import type { Part } from "./parts.js";
import { Changes, Readers } from "./readers.js";
import type { StoredJob } from "./readings.js";
import { isOpen } from "./states.js";

/** Interval at which a reader is reported to the owner of its job, in milliseconds. */
const REPORT_MS = 10_000;

/** Reads the rows of a response that has ended, or that no owner in this process writes. */
export class RowFeed {
  readonly changes = new Changes();
  readonly readers: Readers;
  readonly isLive = false;
  readonly #jobs: JobsContext;
  readonly #context: HostContext;
  readonly #id: string;
  #status: Promise<StoredJob | null> | undefined;
  #unwatch = () => {};
  #attendedAt = 0;

  constructor(jobs: JobsContext, context: HostContext, id: string, onLeft: () => void) {
    this.#jobs = jobs;
    this.#context = context;
    this.#id = id;
    this.readers = new Readers(this.changes, () => {
      this.#unwatch();
      if (this.readers.count === 0) onLeft();
      else
        this.#unwatch = watchJob(context, jobs.store, {
          id,
          isReader: true,
          onChange: (status) => this.#note(status),
        });
    });
  }

  /** Returns the state of the job; null if the job does not exist. */
  readStatus(): Promise<StoredJob | null> {
    this.#status ??= this.#loadStatus();
    return this.#status;
  }

  /** Returns the events after an id: undefined if none follow yet, `"missing"` if they are not stored. */
  async readPart(after: number): Promise<Part | "missing" | undefined> {
    const status = await this.readStatus();
    if (status && after >= status.lastId)
      return status.isWhole || isOpen(status.state) ? undefined : "missing";
    return readStored(this.#context, this.#jobs.store, this.#id, after);
  }

  async #loadStatus(): Promise<StoredJob | null> {
    const { host, key } = this.#context;
    const loading = host.run(key, this.#jobs.store.jobs, { ids: [this.#id] });
    // the next reader tries again
    loading.catch(() => {
      this.#status = undefined;
    });
    const [status = null] = await loading;
    this.#attend(status);
    return status;
  }

  /** @param status undefined if it could not be read, so that the readers try it themselves */
  #note(status: StoredJob | null | undefined): void {
    this.#status = status === undefined ? undefined : Promise.resolve(status);
    this.changes.notify();
    if (status) this.#attend(status);
  }

  /** Reports a reader to the owner of an open job, so that it stores events early. Settles a lost job. */
  #attend(status: StoredJob | null): void {
    const now = Date.now();
    const isDue = status && (now > status.aliveUntil || now - this.#attendedAt >= REPORT_MS);
    if (!isDue || !isOpen(status.state) || this.readers.count === 0) return;
    this.#attendedAt = now;
    const { host, key } = this.#context;
    const attended = host.run(key, this.#jobs.store.attend, { id: this.#id }).then((state) => {
      if (state === "lost") return checkJob(this.#jobs, this.#context, this.#id);
      // the owner did not know of this reader, so it published no change
      if (state === "ended") this.#note(undefined);
    });
    // the next read tries again
    attended.catch(() => {});
  }
}

/** Opens the rows of a response. All readers of a process or object share the feed. */
export function openRowFeed(jobs: JobsContext, context: HostContext, id: string): RowFeed {
  const shared = shareByHost<RowFeed>(context.host, "rows", jobs.kind, context.key, id);
  const feed = shared.get() ?? new RowFeed(jobs, context, id, () => shared.delete(feed));
  shared.set(feed);
  return feed;
}
