import type { HostContext } from "@sluice/worker-proxy";
import { watchJob } from "./key-watch.js";
import { type LiveJob, memory } from "./live.js";
import { makeRows, type Part } from "./parts.js";
import { ALIVE_MS, type Payment, RENEW_MS, type ResponseHead, type StopReason } from "./states.js";
import type { End, JobStore, Owned, Settlement } from "./store.js";

/** Unstored bytes of one response: from the first number on they are stored at once, from the second on the gateway waits. */
const STORE_BYTES = 256 * 1024;
const MAX_WAITING_BYTES = 1024 * 1024;
/** Unstored bytes of all responses in this process from which every gateway waits. */
const MAX_MEMORY_BYTES = 64 * 1024 * 1024;
/** Size up to which a response is in the row of its job, in bytes. The row is written again with each renewal. */
const TEXT_BYTES = 64 * 1024;
/** Longest time until events are stored that a reader in another process waits for, in milliseconds. */
const ATTENDED_MS = 100;
/** Time until a row is written again that could not be written, in milliseconds. */
const RETRY_MS = 1000;

/** The reason for which an owner has to give up: it was told to stop, or another one has settled its job as lost. */
export type GiveUp = StopReason | "lost";

/** Options of an owner. */
export interface OwnerOptions {
  readonly context: HostContext;
  readonly store: JobStore;
  readonly live: LiveJob;
  readonly id: string;
  readonly owner: string;
  /** Time after which a job without a reader is stopped, in milliseconds. @default never */
  readonly idleTimeoutMs?: number | undefined;
  /** Called once. */
  readonly onGiveUp: (reason: GiveUp) => void;
  readonly report: (error: unknown) => void;
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
  #headIsStored = false;
  /** All of the response that is stored, as long as it is small. */
  #text: string | undefined = "";
  #textBytes = 0;

  constructor(options: OwnerOptions) {
    this.#options = options;
    const { context, store, live, id } = options;
    this.#unwatch = watchJob(context, store, id, ({ stop, read_until }) => {
      if (stop) this.giveUp(stop);
      this.#attendedUntil = Math.max(this.#attendedUntil, read_until);
      if (live.unstoredBytes > 0 || live.head) this.#scheduleStore(this.#pauseMs());
    });
    // nothing can be stored after the host has closed
    context.signal.addEventListener("abort", this.#onClose);
    if (context.signal.aborted) this.#onClose();
    live.onReaders = () => this.#watchIdle();
    this.#scheduleStore(RENEW_MS);
    this.#watchIdle();
  }

  /** The reason for which the job was given up; undefined as long as it goes on. */
  get gaveUp(): GiveUp | undefined {
    return this.#gaveUp;
  }

  giveUp(reason: GiveUp): void {
    if (this.#gaveUp || this.#isClosed) return;
    this.#gaveUp = reason;
    this.#options.onGiveUp(reason);
  }

  /** Notes what another operation on the job has returned. */
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

  /** Adds more of the response. */
  add(parts: readonly Part[]): void {
    const { live } = this.#options;
    live.add(parts);
    this.#scheduleStore(live.unstoredBytes >= STORE_BYTES ? 0 : this.#pauseMs());
  }

  /** Resolves when more events fit into memory. */
  async makeRoom(): Promise<void> {
    const { live } = this.#options;
    const isFull = () =>
      live.unstoredBytes > MAX_WAITING_BYTES || (memory.bytes > MAX_MEMORY_BYTES && live.unstoredBytes > 0);
    while (isFull() && !this.#isClosed && !this.#gaveUp) {
      await this.#store();
      if (isFull()) await sleep(RETRY_MS);
    }
  }

  /**
   * Stores the end, for as long as the job is this owner's. Returns the ids of older responses that made room for it;
   * undefined if the job was lost meanwhile.
   */
  async end({ code, ...end }: OwnEnd): Promise<readonly string[] | undefined> {
    const { context, store, live } = this.#options;
    this.#stopTimers();
    await this.#storing;
    const parts = live.getUnstored();
    const input: End = { ...this.#append(parts), ...end, code: code ?? null };
    try {
      const { isEnded, dropped } = await this.#retry(() =>
        context.host.run(context.key, store.end, input as never),
      );
      const how = isEnded ? end.state : "lost";
      live.isStored = isEnded;
      live.noteStored(parts);
      live.finish(how, isEnded ? code : store.options.lostCode);
      return isEnded ? dropped : undefined;
    } catch (error) {
      this.#options.report(error);
      // readers in this process have the whole response; for later readers it is lost
      live.finish(end.state, code);
      return undefined;
    }
  }

  /** Frees the id. Returns false if the job was lost meanwhile. */
  async free(settlement: Settlement, isSettled: boolean): Promise<boolean> {
    const { context, store, id, owner } = this.#options;
    this.#stopTimers();
    await this.#storing;
    try {
      const input = { id, owner, settlement, isSettled };
      return await this.#retry(() => context.host.run(context.key, store.free, input));
    } catch (error) {
      this.#options.report(error);
      return false;
    }
  }

  close(): void {
    this.#stopTimers();
    this.#options.context.signal.removeEventListener("abort", this.#onClose);
    this.#options.live.onReaders = () => {};
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

  /** Stores what is there in `ms` milliseconds at the latest. */
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
    const { context, store, live, report } = this.#options;
    const parts = live.getUnstored();
    try {
      const input = this.#append(parts);
      const startedAt = Date.now();
      const owned = await context.host.run(context.key, store.append, input);
      this.#headIsStored ||= input.head !== null;
      this.#text = input.text ?? (parts.length > 0 ? undefined : this.#text);
      this.#textBytes += sumBytes(parts);
      live.noteStored(parts);
      this.note(owned);
      this.#aliveUntil = startedAt + ALIVE_MS;
      this.#scheduleStore(live.unstoredBytes > 0 ? this.#pauseMs() : RENEW_MS);
    } catch (error) {
      report(error);
      // others may say by now that it is lost
      if (Date.now() >= this.#aliveUntil) this.giveUp("lost");
      this.#scheduleStore(RETRY_MS);
    }
  }

  #append(parts: readonly Part[]) {
    const { live, id, owner } = this.#options;
    const { head, isWhole } = live;
    // what is not stored any more has no id in the rows
    const lastId = live.getStoredId(parts);
    const headText = head && !this.#headIsStored ? JSON.stringify(head) : null;
    const isSmall = this.#text !== undefined && this.#textBytes + sumBytes(parts) <= TEXT_BYTES;
    const stored = isSmall
      ? {
          text: parts.length === 0 ? null : `${this.#text}${parts.map((part) => part.text).join("")}`,
          parts: [],
        }
      : { text: null, parts: makeRows(parts) };
    return { id, owner, ...stored, lastId, isWhole, head: headText };
  }

  /** Repeats failed work, as long as no other process can have settled the job. */
  async #retry<Result>(work: () => Promise<Result>): Promise<Result> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (Date.now() + RETRY_MS >= this.#aliveUntil) throw error;
        await sleep(RETRY_MS);
      }
    }
  }

  /** Stops a job without readers. */
  #watchIdle(): void {
    const { live, idleTimeoutMs } = this.#options;
    clearTimeout(this.#idleTimer);
    if (idleTimeoutMs === undefined || live.readers.count > 0 || this.#isClosed) return;
    const since = Math.max(live.aloneSince, this.#attendedUntil);
    const left = since + idleTimeoutMs - Date.now();
    if (left <= 0) return this.giveUp("orphaned");
    this.#idleTimer = setTimeout(() => void this.#checkIdle(), left);
  }

  /** Reads whether another process has a reader, before the job is stopped. */
  async #checkIdle(): Promise<void> {
    await this.#store();
    this.#watchIdle();
  }
}

function sumBytes(parts: readonly Part[]): number {
  return parts.reduce((size, { bytes }) => size + bytes.byteLength, 0);
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
