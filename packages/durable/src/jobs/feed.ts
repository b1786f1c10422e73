import type { HostContext } from "@sluice/worker-proxy";
import { type Part, readRow } from "./parts.js";
import type { Changes, Readers } from "./readers.js";
import type { JobStatus } from "./readings.js";
import type { JobStore } from "./store.js";
import type { PartRow } from "./table.js";

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

/** Largest number of reads whose rows are cached. */
const MAX_PAGES = 8;

/** Reads the rows of a response, once for all readers behind the same event. */
export class RowPages {
  readonly #context: HostContext;
  readonly #store: JobStore;
  readonly #id: string;
  readonly #pages = new Map<number, Promise<readonly PartRow[]>>();
  readonly #parts = new WeakMap<PartRow, Part>();

  constructor(context: HostContext, store: JobStore, id: string) {
    this.#context = context;
    this.#store = store;
    this.#id = id;
  }

  /** Returns what follows an event; undefined if no row does. */
  async read(after: number): Promise<Part | undefined> {
    for (const [first, page] of this.#pages) {
      const rows = await page;
      const row = first <= after && rows.find(({ last_id }) => last_id > after);
      if (row) return this.#readPart(row, first === after && rows[0] === row, after);
    }
    const [row] = await this.#load(after);
    return row && this.#readPart(row, true, after);
  }

  /** Clears the cache: there may be more rows. */
  clear(): void {
    this.#pages.clear();
  }

  #load(after: number): Promise<readonly PartRow[]> {
    const { host, key } = this.#context;
    const page = host.run(key, this.#store.parts, { id: this.#id, after });
    const [oldest] = this.#pages.keys();
    if (oldest !== undefined && this.#pages.size >= MAX_PAGES) this.#pages.delete(oldest);
    this.#pages.set(after, page);
    // a failed or empty read is repeated
    page.then(
      (rows) => rows.length === 0 && this.#pages.delete(after),
      () => this.#pages.delete(after),
    );
    return page;
  }

  #readPart(row: PartRow, isShared: boolean, after: number): Part {
    const known = isShared ? this.#parts.get(row) : undefined;
    const part = known ?? readRow(row, after);
    if (isShared) this.#parts.set(row, part);
    return part;
  }
}
