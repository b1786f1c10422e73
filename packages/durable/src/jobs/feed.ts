import type { HostContext } from "@sluice/worker-proxy";
import { type Part, readRow } from "./parts.js";
import type { Changes, Readers } from "./readers.js";
import type { JobStatus } from "./readings.js";
import type { JobStore } from "./store.js";

/** A response that all readers in a process share: each change is read and encoded once. */
export interface Feed {
  readonly changes: Changes;
  readonly readers: Readers;
  /** True in the process of the owner, which has events that are not stored yet. */
  readonly isLive: boolean;
  /** Returns the state of the job; null if there is none. */
  readStatus(): Promise<JobStatus | null>;
  /** Returns what follows an event: undefined if nothing does yet, `"missing"` if it is not stored. */
  readPart(after: number): Promise<Part | "missing" | undefined>;
}

/** Largest number of reads that are cached. */
const MAX_PAGES = 8;

/** Reads the rows of a response, once for all readers behind the same event. */
export class RowPages {
  readonly #load: (after: number) => Promise<Part | undefined>;
  readonly #pages = new Map<number, Promise<Part | undefined>>();

  constructor({ host, key }: HostContext, store: JobStore, id: string) {
    this.#load = async (after) => {
      const [row] = await host.run(key, store.parts, { id, after });
      return row && readRow(row, after);
    };
  }

  /** Returns what follows an event; undefined if no row does. */
  read(after: number): Promise<Part | undefined> {
    const known = this.#pages.get(after);
    if (known) return known;
    const page = this.#load(after);
    const [oldest] = this.#pages.keys();
    if (oldest !== undefined && this.#pages.size >= MAX_PAGES) this.#pages.delete(oldest);
    this.#pages.set(after, page);
    // a failed or empty read is repeated
    const drop = () => this.#pages.delete(after);
    page.then((part) => part ?? drop(), drop);
    return page;
  }

  /** Clears the cache: there may be more rows. */
  clear(): void {
    this.#pages.clear();
  }
}
