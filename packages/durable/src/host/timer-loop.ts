import type { Timers } from "./timers.js";

/** Longest pause between two reads of the table: timers of other processes are found by then. */
const POLL_MS = 1_000;

/** Reads the table of timers when the next known one is due, and each second. */
export class TimerLoop {
  #timeout: ReturnType<typeof setTimeout> | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;
  #isClosed = false;
  #claiming: Promise<void> = Promise.resolve();
  readonly #timers: Timers;
  readonly #onError: (error: unknown) => void;

  constructor(timers: Timers, onError: (error: unknown) => void) {
    this.#timers = timers;
    this.#onError = onError;
    this.wake(Date.now());
  }

  /** Reads the table at a time at the latest. */
  wake(at: number): void {
    const now = Date.now();
    const isLater = this.#timeout !== undefined && at >= this.#wakeAt;
    if (this.#isClosed || isLater) return;
    this.#wakeAt = Math.min(at, now + POLL_MS);
    clearTimeout(this.#timeout);
    this.#timeout = setTimeout(() => this.#read(), Math.max(0, this.#wakeAt - now));
  }

  /** Ends the loop, and waits for jobs. */
  async close(withinMs: number): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timeout);
    await this.#claiming;
    await this.#timers.close(withinMs);
  }

  #read(): void {
    this.#timeout = undefined;
    this.#wakeAt = Number.POSITIVE_INFINITY;
    this.#claiming = this.#claiming.then(async () => {
      try {
        const inMs = (await this.#timers.begin()) ?? POLL_MS;
        this.wake(Date.now() + inMs);
      } catch (error) {
        this.#onError(error);
        this.wake(Date.now() + POLL_MS);
      }
    });
  }
}
