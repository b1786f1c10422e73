import type { HostContext } from "@sluice/worker-proxy";
import type { WatchParts } from "./jobs.js";
import { findChanges } from "./rows.js";
import type { WatchedTask } from "./task.js";
import { noteReaders, READER_NOTE_MS } from "./watches.js";

/** Longest silence of a stream, in milliseconds: shorter than the 60 s of networks, of the proxy and of clients. */
const BEAT_MS = 25_000;
/** Largest number of streams of one task, and of one user, in one process. */
const MAX_PER_TASK = 16;
const MAX_PER_USER = 64;

/** One stream of a task. */
export interface Follower {
  readonly id: string;
  /** The beat at which its client got bytes that it has not taken yet. */
  sentAt: number | undefined;
  /** True after the client read nothing for two beats. It does not count any more. */
  isOver: boolean;
}

/**
 * The followers of one user's tasks in one process. A change is read and encoded once for all of them, and an idle
 * follower costs nothing.
 */
export class Feed<Env> {
  /** Number of beats so far. */
  beats = 0;
  readonly #parts: WatchParts<Env>;
  readonly #context: HostContext;
  readonly #followers = new Set<Follower>();
  readonly #tasks = new Map<string, WatchedTask | null | undefined>();
  readonly #close: () => void;
  #changes = 0;
  #waiting: (() => void)[] = [];
  #reading: Promise<void> = Promise.resolve();
  #nextReading: Promise<void> | undefined;
  #readersNotedAt = Date.now();

  /** @param onEnd called once the last follower has left: the feed is over then */
  constructor(parts: WatchParts<Env>, context: HostContext, onEnd: () => void) {
    this.#parts = parts;
    this.#context = context;
    const unsubscribe = context.subscribe(() => void this.#refresh());
    const timer = setInterval(() => this.#beat(), BEAT_MS);
    this.#close = () => {
      unsubscribe();
      clearInterval(timer);
      onEnd();
    };
  }

  /** Returns the limit that one more stream of a task would exceed. Many people are one user of a public proxy. */
  findLimit(id: string, isPublic: boolean): number | undefined {
    if (!isPublic && this.#followers.size >= MAX_PER_USER) return MAX_PER_USER;
    const isOfTask = (follower: Follower) => follower.id === id;
    return [...this.#followers].filter(isOfTask).length >= MAX_PER_TASK ? MAX_PER_TASK : undefined;
  }

  add(id: string): Follower {
    const follower: Follower = { id, sentAt: undefined, isOver: false };
    this.#followers.add(follower);
    return follower;
  }

  remove(follower: Follower): void {
    this.#followers.delete(follower);
    if (![...this.#followers].some(({ id }) => id === follower.id)) this.#tasks.delete(follower.id);
    if (this.#followers.size === 0) this.#close();
  }

  /** Returns the newest known state of a task; null if it is gone. */
  async read(id: string): Promise<WatchedTask | null> {
    if (!this.#tasks.has(id)) this.#tasks.set(id, undefined);
    if (this.#tasks.get(id) === undefined) await this.#refresh();
    return this.#tasks.get(id) ?? null;
  }

  /** Returns a function that waits for the next change or beat. */
  watch(): () => Promise<void> {
    const seen = this.#changes;
    return async () => {
      if (this.#changes === seen) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    };
  }

  /** Reads what has changed. A reading that has begun may have missed it, so that another one follows. */
  #refresh(): Promise<void> {
    this.#nextReading ??= this.#reading.then(() => {
      this.#nextReading = undefined;
      this.#reading = this.#readChanges().catch((error) => {
        const { setup } = this.#parts.server();
        setup.report("videoWatch: changes could not be read", error, this.#context.env as Env);
      });
      return this.#reading;
    });
    return this.#nextReading;
  }

  async #readChanges(): Promise<void> {
    const { host, key } = this.#context;
    const known = [...this.#tasks].map(([id, task]) => ({ id, version: task?.version ?? 0 }));
    if (known.length === 0) return;
    const changed = await host.run(key, findChanges, { known });
    for (const { id, task } of changed) if (this.#tasks.has(id)) this.#tasks.set(id, task);
    if (changed.length > 0) this.wake();
  }

  #beat(): void {
    this.beats += 1;
    for (const follower of this.#followers) {
      const { sentAt } = follower;
      if (sentAt === undefined || this.beats - sentAt < 2) continue;
      follower.isOver = true;
      this.remove(follower);
    }
    void this.#refresh();
    this.#noteReaders();
    this.wake();
  }

  /** Tells the polls that there are readers: without one they come less often. */
  #noteReaders(): void {
    const now = Date.now();
    if (now - this.#readersNotedAt < READER_NOTE_MS) return;
    this.#readersNotedAt = now;
    const { host, key, env } = this.#context;
    const ids = [...new Set([...this.#followers].map(({ id }) => id))];
    host.run(key, noteReaders, { ids }).catch((error) => {
      this.#parts.server().setup.report("videoWatch: readers could not be noted", error, env as Env);
    });
  }

  /** Lets all followers look again. */
  wake(): void {
    this.#changes += 1;
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
