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

  /** Waits until the number of changes exceeds `seen`. */
  async after(seen: number): Promise<void> {
    if (this.count === seen) await this.#next;
  }

  #openNext(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

/** Maximum silence in a stream, in milliseconds: below the 60 s timeouts of networks, the proxy and clients. */
const BEAT_MS = 25_000;

/** A reader of a response. */
export interface Reader {
  /** True once the client has disconnected, or has read nothing for two beats. */
  hasLeft: boolean;
  /** True while the reader reads the body; false while it waits for the response. */
  isReading: boolean;
  /** True while the client has not read the last bytes. */
  isSending: boolean;
  /** True from a beat until the next write. */
  isSilent: boolean;
  /** Number of beats since the client last read bytes. */
  beats: number;
}

/** The readers of one response in this process. */
export class Readers {
  readonly #readers = new Set<Reader>();
  readonly #changes: Changes;
  readonly #onChange: () => void;
  #timer: ReturnType<typeof setInterval> | undefined;

  /** @param onChange called when the first reader joins, and when the last reader has left */
  constructor(changes: Changes, onChange: () => void) {
    this.#changes = changes;
    this.#onChange = onChange;
  }

  get count(): number {
    return this.#readers.size;
  }

  /** Number of readers that read the body. */
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
    // wakes the reader if it waits for a change
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
