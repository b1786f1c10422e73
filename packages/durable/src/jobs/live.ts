import type { HostContext } from "@sluice/worker-proxy";
import { shareByHost } from "../shared/share-by-host.js";
import { type Feed, readStored } from "./feed.js";
import type { JobsContext } from "./options.js";
import { cutPart, MAX_ROW_BYTES, makeTextParts, type Part } from "./parts.js";
import { Changes, Readers } from "./readers.js";
import type { JobStatus } from "./readings.js";
import { isOpen, type JobState, type ResponseHead } from "./states.js";
import type { JobStore } from "./store.js";

/** Bytes of a response that stay in memory for slow readers. */
const TAIL_BYTES = 65_536;
/** Time for which a response stays in memory after its end, because its reader may start late. */
const LINGER_MS = 10_000;

/** Total number of unstored bytes of all responses in this process. */
export const memory = { bytes: 0 };

/** A response in progress, in the process of its owner. It holds the events that are not stored yet. */
export class LiveJob implements Feed {
  readonly changes = new Changes();
  readonly readers: Readers;
  readonly isLive = true;
  /** Start of the time without readers, in Unix milliseconds. Only valid while `readers.count` is 0. */
  aloneSince = Date.now();
  state: JobState = "claimed";
  code: string | undefined;
  head: ResponseHead | undefined;
  lastId = 0;
  /** True once the end of the job and all stored events are in rows. */
  isStored = false;
  /** False once the response exceeds a size limit. Then no more events are stored. */
  isWhole = true;
  /** Called when the first reader joins, and when the last reader has left. */
  onReaders = () => {};
  readonly #maxBytes: number;
  #tailLimit = TAIL_BYTES;
  readonly #readStored: (after: number) => Promise<Part | "missing">;
  #tail: Part[] = [];
  #tailBytes = 0;
  #bytes = 0;
  readonly #unstored: Part[] = [];
  #storedTo = 0;
  #unstoredBytes = 0;

  constructor({ store, maxBytes }: JobsContext, context: HostContext, id: string) {
    this.#maxBytes = maxBytes;
    this.#readStored = (after) => readStored(context, store, id, after);
    this.readers = new Readers(this.changes, () => {
      this.aloneSince = Date.now();
      this.onReaders();
    });
  }

  /** Number of bytes that are not stored yet. */
  get unstoredBytes(): number {
    return this.#unstoredBytes;
  }

  async readStatus(): Promise<JobStatus> {
    const { state, code, lastId, isWhole } = this;
    // the head of a JSON response is hidden until the job has ended
    const head = this.head?.type === "text/event-stream" || !isOpen(state) ? this.head : undefined;
    return { state, code, head, lastId, isWhole, expiresAt: undefined };
  }

  async readPart(after: number): Promise<Part | "missing" | undefined> {
    if (after >= this.lastId) return undefined;
    const [oldest] = this.#tail;
    if (oldest && oldest.firstId <= after + 1) {
      // searches from the end, because most readers miss only the newest events
      const part = this.#tail.findLast(({ firstId }) => firstId <= after + 1) as Part;
      return cutPart(part, after);
    }
    return this.#readStored(after);
  }

  /**
   * Sets a whole text as the response. Readers in this process get all of it; a text above `maxBytes` is not stored.
   *
   * @returns false if the text is too large to be stored
   */
  setText(text: string, head: ResponseHead): boolean {
    const parts = makeTextParts(text);
    const size = parts.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
    this.isWhole = size <= this.#maxBytes;
    this.#tailLimit = Number.POSITIVE_INFINITY;
    this.add(parts);
    this.head = head;
    return this.isWhole;
  }

  /** Adds parts for readers and for storage. */
  add(parts: readonly Part[]): void {
    for (const part of parts) {
      const { byteLength } = part.bytes;
      this.#bytes += byteLength;
      if (this.#bytes > this.#maxBytes || byteLength > MAX_ROW_BYTES) this.isWhole = false;
      if (this.isWhole) {
        this.#unstored.push(part);
        this.#count(byteLength);
      }
      this.#tail.push(part);
      this.#tailBytes += byteLength;
      this.lastId = part.lastId;
    }
    if (!this.isWhole) this.#trim();
    this.changes.notify();
  }

  /** Returns the parts to store next. */
  getUnstored(): readonly Part[] {
    return [...this.#unstored];
  }

  /** Returns the id of the last stored event once these parts are stored. */
  getStoredId(parts: readonly Part[]): number {
    return parts.at(-1)?.lastId ?? this.#storedTo;
  }

  /** Notes that parts are stored. Memory then needs only the newest parts. */
  noteStored(parts: readonly Part[]): void {
    this.#unstored.splice(0, parts.length);
    for (const { bytes } of parts) this.#count(-bytes.byteLength);
    this.#storedTo = this.getStoredId(parts);
    this.#trim();
  }

  /** Ends the response for readers in this process. */
  finish(state: JobState, code?: string): void {
    this.state = state;
    this.code = code;
    this.changes.notify();
  }

  /** Subtracts the unstored bytes of this response from the total of the process. */
  close(): void {
    this.#count(-this.#unstoredBytes);
  }

  #count(bytes: number): void {
    this.#unstoredBytes += bytes;
    memory.bytes += bytes;
  }

  #trim(): void {
    while (this.#tail.length > 1 && this.#tailBytes > this.#tailLimit) {
      const [oldest] = this.#tail;
      if (!oldest || oldest === this.#unstored[0]) return;
      this.#tail.shift();
      this.#tailBytes -= oldest.bytes.byteLength;
    }
  }
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
      live.close();
      const timer: unknown = setTimeout(() => shared.delete(live), LINGER_MS);
      // the timer alone must not keep the process alive
      (timer as { unref?(): void }).unref?.();
    },
  };
}
