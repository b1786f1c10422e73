/** The listeners of each key. */
export class Listeners {
  readonly #listeners = new Map<string, Set<() => void>>();

  /** Adds a listener. Returns a function that removes it. */
  add(key: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(key) ?? new Set();
    this.#listeners.set(key, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key);
    };
  }

  notify(key: string): void {
    for (const listener of this.#listeners.get(key) ?? []) listener();
  }

  notifyAll(): void {
    for (const key of [...this.#listeners.keys()]) this.notify(key);
  }
}
