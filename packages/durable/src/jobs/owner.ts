import type { HostContext } from "@sluice/worker-proxy/plugin";
import { watchJob } from "./key-watch.js";
import type { LiveJob } from "./live.js";
import type { JobsContext } from "./options.js";
import { MAX_ROW_BYTES, makeEventParts, makeRows, makeTextParts, type Part } from "./parts.js";
import { logJob } from "./report.js";
import { ALIVE_MS, type Payment, RENEW_MS, type ResponseHead, type StopReason } from "./states.js";
import type { End, Owned, Owner, Settlement } from "./store.js";

/**
 * Bounds for the unstored bytes of one response. From the first bound events are stored at once. Above the second bound
 * the owner stops reading from the gateway.
 */
const STORE_BYTES = 256 * 1024;
const MAX_WAITING_BYTES = 1024 * 1024;
/** Bound for the unstored bytes of a process. Above it, owners with unstored bytes stop reading from the gateway. */
const MAX_MEMORY_BYTES = 64 * 1024 * 1024;
/** Maximum size of a response in the row of its job, in bytes: the row is rewritten when more events are stored. */
const TEXT_BYTES = 64 * 1024;
/** Maximum delay before events are stored while a reader in another process waits, in milliseconds. */
const ATTENDED_MS = 100;
/** Pause before a failed write is repeated, in milliseconds. */
const RETRY_MS = 1000;

/** Number of unstored bytes of all responses in this process. */
let memoryBytes = 0;

/** Why an owner gives up: a stop reason, or `lost` if another process settled its job as lost. */
export type GiveUp = StopReason | "lost";

/** Options of an owner. */
interface OwnerOptions {
  readonly jobs: JobsContext;
  readonly context: HostContext;
  readonly live: LiveJob;
  readonly request: Owner;
  /** Called once, when the owner gives up. */
  readonly onGiveUp: (reason: GiveUp) => void;
}

/** The end of a job, as its owner knows it. */
export interface OwnEnd extends Pick<End, "state" | "settlement" | "isSettled"> {
  readonly code?: string | undefined;
  readonly payment: Payment;
}

/** Owns one job: stores its response, and renews its lease until it ends. */
export class JobOwner {
  readonly #options: OwnerOptions;
  readonly #unwatch: () => void;
  readonly #onClose = () => this.giveUp("lost");
  #timer: ReturnType<typeof setTimeout> | undefined;
  #timerAt = Number.POSITIVE_INFINITY;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  #storing: Promise<void> | undefined;
  #isClosed = false;
  #gaveUp: GiveUp | undefined;
  /** Unix milliseconds by the clock of this process. */
  #aliveUntil = Date.now() + ALIVE_MS;
  #attendedUntil = 0;
  /** Bytes of the response so far. */
  #bytes = 0;
  readonly #unstored: Part[] = [];
  #unstoredBytes = 0;
  #headIsStored = false;
  /** The stored response; undefined once it is larger than {@link TEXT_BYTES}. */
  #text: string | undefined = "";
  #textBytes = 0;

  constructor(options: OwnerOptions) {
    this.#options = options;
    const { jobs, context, live, request } = options;
    this.#unwatch = watchJob(context, jobs.store, {
      id: request.id,
      isReader: false,
      onChange: (job) => {
        // without the row, the next renewal of the lease reads what has changed
        if (!job) return;
        if (job.stop) this.giveUp(job.stop);
        this.#attendedUntil = Math.max(this.#attendedUntil, job.readUntil);
        if (this.#unstoredBytes > 0 || live.head) this.#scheduleStore(this.#pauseMs());
      },
    });
    // nothing can be stored after the host has closed
    context.signal.addEventListener("abort", this.#onClose);
    if (context.signal.aborted) this.#onClose();
    live.onReaders = () => this.#watchIdle();
    this.#scheduleStore(RENEW_MS);
    this.#watchIdle();
  }

  /** Why the owner gave up the job; undefined while the job continues. */
  get gaveUp(): GiveUp | undefined {
    return this.#gaveUp;
  }

  giveUp(reason: GiveUp): void {
    if (this.#gaveUp || this.#isClosed) return;
    this.#gaveUp = reason;
    this.#options.onGiveUp(reason);
  }

  /** Notes the result of another operation on the job. */
  note({ isOwned, stop, readMs }: Owned): void {
    this.#aliveUntil = Date.now() + ALIVE_MS;
    if (readMs > 0) this.#attendedUntil = Date.now() + readMs;
    if (!isOwned) this.giveUp("lost");
    else if (stop) this.giveUp(stop);
  }

  /** Sets the head of the response. */
  begin(head: ResponseHead): void {
    const { live } = this.#options;
    live.head = head;
    live.changes.notify();
    this.#scheduleStore(this.#pauseMs());
  }

  /** Adds the lines of events to the response. */
  addEvents(events: readonly string[]): void {
    this.#add(makeEventParts(events, this.#options.live.lastId));
    this.#scheduleStore(this.#unstoredBytes >= STORE_BYTES ? 0 : this.#pauseMs());
  }

  /**
   * Sets a whole text as the response. Readers in this process get all of it; a text above `maxBytes` is not stored.
   *
   * @returns false if the text is too large to be stored
   */
  setText(text: string, head: ResponseHead): boolean {
    const { jobs, live } = this.#options;
    const parts = makeTextParts(text);
    if (sumBytes(parts) > jobs.maxBytes) live.storableTo = 0;
    live.tailBytes = Number.POSITIVE_INFINITY;
    this.#add(parts);
    live.head = head;
    return live.isWhole;
  }

  /** Resolves when more events fit into memory. */
  async makeRoom(): Promise<void> {
    const isFull = () =>
      this.#unstoredBytes > MAX_WAITING_BYTES || (memoryBytes > MAX_MEMORY_BYTES && this.#unstoredBytes > 0);
    while (isFull() && !this.#isClosed && !this.#gaveUp) {
      await this.#store();
      if (isFull()) await sleep(RETRY_MS);
    }
  }

  /**
   * Stores the end of the job, if this owner still owns it. Returns the ids of older responses that were dropped for
   * it; undefined if the job was lost, or the end could not be stored.
   */
  async end({ code, ...end }: OwnEnd): Promise<readonly string[] | undefined> {
    const { jobs, context, live } = this.#options;
    const ended = await this.#runLast(() => {
      const input: End = { ...this.#append(this.#unstored), ...end, code: code ?? null };
      return context.host.run(context.key, jobs.store.end, input as never);
    });
    if (ended) this.#noteStored([...this.#unstored]);
    live.isStored = ended?.isEnded === true;
    // after a failure readers in this process still get the whole response, and later readers find a lost job
    if (ended?.isEnded === false) live.finish("lost", jobs.lostCode);
    else live.finish(end.state, code);
    return ended?.isEnded ? ended.dropped : undefined;
  }

  /** Frees the id. Returns false if the job was lost, or the id could not be freed. */
  async free(settlement: Settlement, isSettled: boolean): Promise<boolean> {
    const { jobs, context, request } = this.#options;
    const input = { ...identify(request), settlement, isSettled };
    return (await this.#runLast(() => context.host.run(context.key, jobs.store.free, input))) === true;
  }

  close(): void {
    this.#stopTimers();
    // a write may still be under way
    this.#count(-sumBytes(this.#unstored.splice(0)));
    this.#options.context.signal.removeEventListener("abort", this.#onClose);
    this.#options.live.onReaders = () => {};
  }

  /** Adds parts for readers and for storage. */
  #add(parts: readonly Part[]): void {
    const { jobs, live } = this.#options;
    for (const part of parts) {
      const { size } = part;
      this.#bytes += size;
      if (this.#bytes > jobs.maxBytes || size > MAX_ROW_BYTES)
        live.storableTo = Math.min(live.storableTo, part.firstId - 1);
      if (part.lastId > live.storableTo) continue;
      this.#unstored.push(part);
      this.#count(size);
    }
    live.add(parts);
  }

  /** Notes that parts are stored. Memory then needs only the newest parts. */
  #noteStored(parts: readonly Part[]): void {
    const { live } = this.#options;
    this.#count(-sumBytes(this.#unstored.splice(0, parts.length)));
    live.storedTo = parts.at(-1)?.lastId ?? live.storedTo;
    live.trim();
  }

  #count(bytes: number): void {
    this.#unstoredBytes += bytes;
    memoryBytes += bytes;
  }

  #stopTimers(): void {
    this.#isClosed = true;
    this.#unwatch();
    clearTimeout(this.#timer);
    clearTimeout(this.#idleTimer);
  }

  #pauseMs(): number {
    return Date.now() < this.#attendedUntil ? ATTENDED_MS : RENEW_MS;
  }

  /** Schedules the next write in at most `ms` milliseconds. */
  #scheduleStore(ms: number): void {
    const at = Date.now() + ms;
    if (this.#isClosed || at >= this.#timerAt) return;
    clearTimeout(this.#timer);
    this.#timerAt = at;
    this.#timer = setTimeout(() => {
      this.#timerAt = Number.POSITIVE_INFINITY;
      void this.#store();
    }, ms);
  }

  #store(): Promise<void> {
    this.#storing ??= this.#storeNow().finally(() => {
      this.#storing = undefined;
    });
    return this.#storing;
  }

  async #storeNow(): Promise<void> {
    const { jobs, context } = this.#options;
    const parts = [...this.#unstored];
    try {
      const input = this.#append(parts);
      const startedAt = Date.now();
      const owned = await context.host.run(context.key, jobs.store.append, input);
      this.#headIsStored ||= input.head !== null;
      this.#text = input.text ?? (parts.length > 0 ? undefined : this.#text);
      this.#textBytes += sumBytes(parts);
      this.#noteStored(parts);
      this.note(owned);
      this.#aliveUntil = startedAt + ALIVE_MS;
      this.#scheduleStore(this.#unstoredBytes > 0 ? this.#pauseMs() : RENEW_MS);
    } catch (error) {
      this.#report(error);
      // after the lease, another process may have settled the job as lost
      if (Date.now() >= this.#aliveUntil) this.giveUp("lost");
      this.#scheduleStore(RETRY_MS);
    }
  }

  #append(parts: readonly Part[]) {
    const { live, request } = this.#options;
    const { head, isWhole } = live;
    // the rows must not count events that are not stored
    const lastId = parts.at(-1)?.lastId ?? live.storedTo;
    const headText = head && !this.#headIsStored ? JSON.stringify(head) : null;
    const isSmall = this.#text !== undefined && this.#textBytes + sumBytes(parts) <= TEXT_BYTES;
    const stored = isSmall
      ? {
          text: parts.length === 0 ? null : `${this.#text}${parts.map((part) => part.text).join("")}`,
          parts: [],
        }
      : { text: null, parts: makeRows(parts) };
    return { ...identify(request), ...stored, lastId, isWhole, head: headText };
  }

  /**
   * Runs the last operation of the job. It repeats a failed operation until the lease ends, because then another process
   * may settle the job. Returns undefined if the operation failed.
   */
  async #runLast<Result>(run: () => Promise<Result>): Promise<Result | undefined> {
    this.#stopTimers();
    await this.#storing;
    for (;;) {
      try {
        return await run();
      } catch (error) {
        if (Date.now() + RETRY_MS >= this.#aliveUntil) return this.#report(error);
        await sleep(RETRY_MS);
      }
    }
  }

  #report(error: unknown): undefined {
    const { jobs, context } = this.#options;
    void logJob(jobs, "a response could not be stored", error, context.env);
  }

  /** Stops a job without readers. */
  #watchIdle(): void {
    const { live, jobs } = this.#options;
    const { idleTimeoutMs } = jobs;
    clearTimeout(this.#idleTimer);
    if (idleTimeoutMs === undefined || live.readers.count > 0 || this.#isClosed) return;
    const since = Math.max(live.aloneSince, this.#attendedUntil);
    const left = since + idleTimeoutMs - Date.now();
    if (left <= 0) return this.giveUp("abandoned");
    this.#idleTimer = setTimeout(() => void this.#checkIdle(), left);
  }

  /** Stores, which also reads whether another process has a reader, before it stops the job. */
  async #checkIdle(): Promise<void> {
    await this.#store();
    this.#watchIdle();
  }
}

function identify({ id, owner }: Owner): Owner {
  return { id, owner };
}

function sumBytes(parts: readonly Part[]): number {
  return parts.reduce((sum, { size }) => sum + size, 0);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
