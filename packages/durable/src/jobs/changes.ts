/** Wakes everybody who waits for the next change. */
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
