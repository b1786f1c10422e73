import type { HostContext } from "@sluice/worker-proxy/plugin";
import { type Part, readRow } from "./parts.js";
import type { Changes, Readers } from "./readers.js";
import type { JobStatus } from "./readings.js";
import type { JobStore } from "./store.js";

/** A response that all readers in a process share, so that each change is read and encoded once. */
export interface Feed {
  readonly changes: Changes;
  readonly readers: Readers;
  /** True in the owner's process, which also has the events that are not stored yet. */
  readonly isLive: boolean;
  /** Returns the state of the job; null if the job does not exist. */
  readStatus(): Promise<JobStatus | null>;
  /** Returns the events after an id: undefined if none follow yet, `"missing"` if they are not stored. */
  readPart(after: number): Promise<Part | "missing" | undefined>;
}

/** Maximum number of cached reads. */
const MAX_PAGES = 8;

/** Reads the rows of a response, once for all readers that have read up to the same event. */
export class RowPages {
  readonly #load: (after: number) => Promise<Part | undefined>;
  readonly #pages = new Map<number, Promise<Part | undefined>>();

  constructor({ host, key }: HostContext, store: JobStore, id: string) {
    this.#load = async (after) => {
      const [row] = await host.run(key, store.parts, { id, after });
      return row && readRow(row, after);
    };
  }

  /** Returns the events after an id; undefined if none are stored. */
  read(after: number): Promise<Part | undefined> {
    const known = this.#pages.get(after);
    if (known) return known;
    const page = this.#load(after);
    const [oldest] = this.#pages.keys();
    if (oldest !== undefined && this.#pages.size >= MAX_PAGES) this.#pages.delete(oldest);
    this.#pages.set(after, page);
    // the next call repeats a failed or empty read
    const drop = () => this.#pages.delete(after);
    page.then((part) => part ?? drop(), drop);
    return page;
  }

  /** Clears the cache, because new rows may exist. */
  clear(): void {
    this.#pages.clear();
  }
}
