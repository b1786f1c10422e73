import type { HostContext } from "@sluice/worker-proxy/plugin";
import { shareByHost } from "../shared/share-by-host.js";
import { type Feed, RowPages } from "./feed.js";
import { cutPart, MAX_ROW_BYTES, makeTextParts, type Part } from "./parts.js";
import { Changes, Readers } from "./readers.js";
import type { JobStatus } from "./readings.js";
import { isOpen, type JobState, type ResponseHead } from "./states.js";
import type { JobStore } from "./store.js";

/** Bytes of a response that stay in memory for slow readers. */
const TAIL_BYTES = 65_536;
/** Time for which a response stays in memory after its end, because its reader may start late. */
const LINGER_MS = 10_000;

/** Options of a response in memory. */
export interface LiveOptions {
  /** The owner of the job. */
  readonly owner: string;
  /** Maximum size of a stored response, in bytes. */
  readonly maxBytes: number;
}

/** Total number of unstored bytes of all responses in this process. */
export const memory = { bytes: 0 };

/** A response in progress, in the process of its owner. It holds the events that are not stored yet. */
export class LiveJob implements Feed {
  readonly changes = new Changes();
  readonly readers: Readers;
  readonly isLive = true;
  readonly owner: string;
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
  readonly #rows: RowPages;
  #tail: Part[] = [];
  #tailBytes = 0;
  #bytes = 0;
  readonly #unstored: Part[] = [];
  #storedTo = 0;
  #unstoredBytes = 0;

  constructor(context: HostContext, store: JobStore, id: string, { owner, maxBytes }: LiveOptions) {
    this.owner = owner;
    this.#maxBytes = maxBytes;
    this.#rows = new RowPages(context, store, id);
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
    const aliveUntil = Number.POSITIVE_INFINITY;
    return { state, code, head, lastId, isWhole, aliveUntil, expiresAt: undefined };
  }

  async readPart(after: number): Promise<Part | "missing" | undefined> {
    if (after >= this.lastId) return undefined;
    const [oldest] = this.#tail;
    if (oldest && oldest.firstId <= after + 1) {
      // searches from the end, because most readers miss only the newest events
      const part = this.#tail.findLast(({ firstId }) => firstId <= after + 1) as Part;
      return cutPart(part, after);
    }
    return (await this.#rows.read(after)) ?? "missing";
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

/**
 * Returns the response that a reader reads from memory. Returns undefined if it is not in memory, or if its end is
 * stored. The request that began the job reads from memory even after the end is stored.
 */
export function findLive(
  context: LiveContext,
  store: JobStore,
  id: string,
  owner: string | undefined,
): LiveJob | undefined {
  const live = readLive(context, store, id);
  return live?.isStored && live.owner !== owner ? undefined : live;
}

/** Opens a response in memory. `drop` removes it after {@link LINGER_MS}. */
export function openLive(
  context: HostContext,
  store: JobStore,
  id: string,
  options: LiveOptions,
): { readonly live: LiveJob; readonly drop: () => void } {
  const live = new LiveJob(context, store, id, options);
  const shared = shareLive(context, store, id);
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
