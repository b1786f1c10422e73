import type { HostContext } from "@sluice/worker-proxy/plugin";
import { shareByHost } from "../shared/share-by-host.js";
import type { JobsContext } from "./options.js";
import { cutPart, type Part, readRow } from "./parts.js";
import { Changes, Readers } from "./readers.js";
import type { JobStatus } from "./readings.js";
import { isOpen, type JobState, type ResponseHead } from "./states.js";
import type { JobStore } from "./store.js";

/** Bytes of an event stream that stay in memory for slow readers. */
const TAIL_BYTES = 65_536;
/** Time for which a response stays in memory after its end, because its reader may start late. */
const LINGER_MS = 10_000;

/** A response in the process of its owner, which also has the events that are not stored yet. */
export class LiveJob {
  readonly changes = new Changes();
  readonly readers: Readers;
  readonly isLive = true;
  /** Start of the time without readers, in Unix milliseconds. Only valid while `readers.count` is 0. */
  aloneSince = Date.now();
  state: JobState = "claimed";
  code: string | undefined;
  head: ResponseHead | undefined;
  lastId = 0;
  /** Id of the last event in the rows. */
  storedTo = 0;
  /** Id of the last event that is ever stored, because the rest exceeds a size limit. */
  storableTo = Number.POSITIVE_INFINITY;
  /** True once the end of the job and all stored events are in rows. */
  isStored = false;
  /** Bytes that stay in memory for slow readers. */
  tailBytes = TAIL_BYTES;
  /** Called when the first reader joins, and when the last reader has left. */
  onReaders = () => {};
  readonly #readStored: (after: number) => Promise<Part | "missing">;
  #tail: Part[] = [];
  #bytes = 0;

  constructor({ store }: JobsContext, context: HostContext, id: string) {
    this.#readStored = (after) => readStored(context, store, id, after);
    this.readers = new Readers(this.changes, () => {
      this.aloneSince = Date.now();
      this.trim();
      this.onReaders();
    });
  }

  /** False once the response exceeds a size limit. */
  get isWhole(): boolean {
    return this.lastId <= this.storableTo;
  }

  readStatus(): JobStatus {
    const { state, code, lastId, isWhole } = this;
    // the head of a JSON response is hidden until the job has ended
    const head = this.head?.type === "text/event-stream" || !isOpen(state) ? this.head : undefined;
    return { state, code, head, lastId, isWhole, expiresAt: undefined };
  }

  /** Returns the events after an id: undefined if none follow yet, `"missing"` if they are not stored. */
  readPart(after: number): Promise<Part | "missing"> | Part | undefined {
    if (after >= this.lastId) return undefined;
    const [oldest] = this.#tail;
    if (oldest && oldest.firstId <= after + 1) {
      // searches from the end, because most readers miss only the newest events
      const part = this.#tail.findLast(({ firstId }) => firstId <= after + 1) as Part;
      return cutPart(part, after);
    }
    return this.#readStored(after);
  }

  /** Adds parts for readers. */
  add(parts: readonly Part[]): void {
    for (const part of parts) {
      this.#tail.push(part);
      this.#bytes += part.size;
      this.lastId = part.lastId;
    }
    this.trim();
    this.changes.notify();
  }

  /** Drops the oldest parts, except those that are still to be stored. After the end it drops all if nobody reads. */
  trim(): void {
    if (this.isStored && this.isWhole && this.readers.count === 0) this.#tail = [];
    while (this.#tail.length > 1 && this.#bytes > this.tailBytes) {
      const [oldest] = this.#tail;
      if (!oldest || (oldest.lastId > this.storedTo && oldest.lastId <= this.storableTo)) return;
      this.#tail.shift();
      this.#bytes -= oldest.size;
    }
  }

  /** Ends the response for readers in this process. */
  finish(state: JobState, code?: string): void {
    this.state = state;
    this.code = code;
    this.trim();
    this.changes.notify();
  }
}

/** Reads the stored events after an id. */
export async function readStored(
  { host, key }: HostContext,
  store: JobStore,
  id: string,
  after: number,
): Promise<Part | "missing"> {
  const [row] = await host.run(key, store.parts, { id, after });
  return row ? readRow(row, after) : "missing";
}

type LiveContext = Pick<HostContext, "host" | "key">;

function shareLive({ host, key }: LiveContext, store: JobStore, id: string) {
  return shareByHost<LiveJob>(host, "live", store.kind, key, id);
}

/** Returns the response that this process or object owns or owned; undefined if it is not in memory. */
export function readLive(context: LiveContext, store: JobStore, id: string): LiveJob | undefined {
  return shareLive(context, store, id).get();
}

/** Returns the response that readers read from memory; undefined if it is not in memory, or if its end is stored. */
export function findLive(context: LiveContext, store: JobStore, id: string): LiveJob | undefined {
  const live = readLive(context, store, id);
  return live?.isStored ? undefined : live;
}

/** Opens a response in memory. `drop` removes it after {@link LINGER_MS}. */
export function openLive(
  jobs: JobsContext,
  context: HostContext,
  id: string,
): { readonly live: LiveJob; readonly drop: () => void } {
  const live = new LiveJob(jobs, context, id);
  const shared = shareLive(context, jobs.store, id);
  shared.set(live);
  return {
    live,
    drop() {
      const timer: unknown = setTimeout(() => shared.delete(live), LINGER_MS);
      // the timer alone must not keep the process alive
      (timer as { unref?(): void }).unref?.();
    },
  };
}
