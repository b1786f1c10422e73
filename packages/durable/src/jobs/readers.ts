/** Wakes all readers that wait for the next change. */
export class Changes {
  /** Number of changes so far. */
  count = 0;
  #wake = () => {};
  #next = this.#openNext();

  notify(): void {
    this.count += 1;
    this.#wake();
    this.#next = this.#openNext();
  }

  /** Waits for a change behind the first `seen`. */
  async after(seen: number): Promise<void> {
    if (this.count === seen) await this.#next;
  }

  #openNext(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** Longest silence in a stream, in milliseconds: shorter than the 60 s of networks, of the proxy and of clients. */
const BEAT_MS = 25_000;

/** A reader of a response. */
export interface Reader {
  /** True once its client has disconnected, or has read nothing for two beats. */
  hasLeft: boolean;
  /** True for a reader of events; false while it waits for the response, or for its end. */
  isReading: boolean;
  /** True while its client has not read the last bytes. */
  isSending: boolean;
  /** True if nothing was sent for a beat. */
  isSilent: boolean;
  /** Number of beats since the client has read bytes. */
  beats: number;
}

/** The readers of one response in this process. */
export class Readers {
  readonly #readers = new Set<Reader>();
  readonly #changes: Changes;
  readonly #onChange: () => void;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** @param onChange called when the first reader comes, and when the last one has left */
  constructor(changes: Changes, onChange: () => void) {
    this.#changes = changes;
    this.#onChange = onChange;
  }

  get count(): number {
    return this.#readers.size;
  }

  /** Number of readers that read events. */
  get reading(): number {
    return [...this.#readers].filter(({ isReading }) => isReading).length;
  }

  join(): Reader {
    const reader: Reader = { hasLeft: false, isReading: false, isSending: false, isSilent: false, beats: 0 };
    this.#readers.add(reader);
    this.#timer ??= setInterval(() => this.#beat(), BEAT_MS);
    if (this.#readers.size === 1) this.#onChange();
    return reader;
  }

  leave(reader: Reader): void {
    if (!this.#readers.delete(reader)) return;
    reader.hasLeft = true;
    // it may wait for a change
    this.#changes.notify();
    if (this.#readers.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#onChange();
  }

  #beat(): void {
    for (const reader of this.#readers) {
      reader.beats += 1;
      if (!reader.isSending) reader.isSilent = true;
      else if (reader.beats > 1) this.leave(reader);
    }
    this.#changes.notify();
  }
}
