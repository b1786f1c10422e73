import type { HostContext } from "@sluice/worker-proxy";
import { shareByHost } from "../shared/share-by-host.js";
import { type Feed, RowPages } from "./feed.js";
import { cutPart, MAX_ROW_BYTES, makeTextParts, type Part } from "./parts.js";
import { Changes, Readers } from "./readers.js";
import type { JobStatus } from "./readings.js";
import { isOpen, type JobState, type ResponseHead } from "./states.js";
import type { JobStore } from "./store.js";

/** Bytes of a response that stay in memory for slow readers. */
const TAIL_BYTES = 65_536;
/** Time for which a response stays in memory after its end: its reader may not have begun. */
const LINGER_MS = 10_000;

/** The bounds of a response in memory. */
export interface LiveOptions {
  /** The owner of the job. */
  readonly owner: string;
  /** Size of the largest response that is stored, in bytes. */
  readonly maxBytes: number;
}

/** Bytes of all responses in this process that wait for their rows. */
export const memory = { bytes: 0 };

/** A response in progress, in the process of its owner. Events that are not stored yet are in memory. */
export class LiveJob implements Feed {
  readonly changes = new Changes();
  readonly readers: Readers;
  readonly isLive = true;
  readonly owner: string;
  /** Unix milliseconds since which there is no reader. */
  aloneSince = Date.now();
  state: JobState = "claimed";
  code: string | undefined;
  head: ResponseHead | undefined;
  lastId = 0;
  /** True once its end is in rows, with all of it that is stored. */
  isStored = false;
  /** False once events are not stored any more. */
  isWhole = true;
  /** Called when the first reader comes, and when the last one has left. */
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

  /** Bytes that wait for their rows. */
  get unstoredBytes(): number {
    return this.#unstoredBytes;
  }

  async readStatus(): Promise<JobStatus> {
    const { state, code, lastId, isWhole } = this;
    // a response that comes as a whole is shown once it is stored
    const head = this.head?.type === "text/event-stream" || !isOpen(state) ? this.head : undefined;
    const aliveUntil = Number.POSITIVE_INFINITY;
    return { state, code, head, lastId, isWhole, aliveUntil, expiresAt: undefined };
  }

  async readPart(after: number): Promise<Part | "missing" | undefined> {
    if (after >= this.lastId) return undefined;
    const [oldest] = this.#tail;
    if (oldest && oldest.firstId <= after + 1) {
      // from the end: most readers miss only the newest events
      const part = this.#tail.findLast(({ firstId }) => firstId <= after + 1) as Part;
      return cutPart(part, after);
    }
    return (await this.#rows.read(after)) ?? "missing";
  }

  /**
   * Sets a whole text as the response, for its readers in this process and for the rows. A text above `maxBytes` is not
   * stored.
   *
   * @returns false if it is not stored
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

  /** Adds parts for the readers, and for the next rows. */
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

  /** Returns the parts that are to be stored next. */
  getUnstored(): readonly Part[] {
    return [...this.#unstored];
  }

  /** Returns the id of the last event that is stored with these parts. */
  getStoredId(parts: readonly Part[]): number {
    return parts.at(-1)?.lastId ?? this.#storedTo;
  }

  /** Notes that parts are in rows: memory needs to hold the last ones alone. */
  noteStored(parts: readonly Part[]): void {
    this.#unstored.splice(0, parts.length);
    for (const { bytes } of parts) this.#count(-bytes.byteLength);
    this.#storedTo = this.getStoredId(parts);
    this.#trim();
  }

  /** Ends the response for its readers in this process. */
  finish(state: JobState, code?: string): void {
    this.state = state;
    this.code = code;
    this.changes.notify();
  }

  /** Frees its memory. */
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
  return shareByHost<LiveJob>(host, "live", store.options.kind, key, id);
}

/** Returns the response that this process or object owns or has owned; undefined if there is none in memory. */
export function readLive(context: LiveContext, store: JobStore, id: string): LiveJob | undefined {
  return shareLive(context, store, id).get();
}

/**
 * Returns the response that a reader reads from memory; undefined if there is none, or if its end is in rows. The request that
 * began it reads it from memory in any case.
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

/** Opens a response. Returns it with the function that drops it from memory some time later. */
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
      // a process that has nothing else to do may end
      (timer as { unref?(): void }).unref?.();
    },
  };
}
