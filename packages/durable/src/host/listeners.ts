/** Functions that are called when the data of a key has changed, such as the events of a user's response. */
export class Listeners {
  readonly #listeners = new Map<string, Set<() => void>>();
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** Adds a listener. Returns a function that removes it. */
  add(key: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(key) ?? new Set();
    // a new function, because the same listener may be added twice
    const entry = () => listener();
    this.#listeners.set(key, listeners.add(entry));
    return () => {
      listeners.delete(entry);
      // the key may have got a new set meanwhile
      if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key);
    };
  }

  notify(key: string): void {
    for (const listener of [...(this.#listeners.get(key) ?? [])]) {
      try {
        listener();
      } catch (error) {
        this.#onError(error);
      }
    }
  }

  notifyAll(): void {
    for (const key of [...this.#listeners.keys()]) this.notify(key);
  }
}
