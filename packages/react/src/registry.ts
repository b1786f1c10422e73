import type { Clock } from "@sluice/core";
import { callAfter, createListeners, toIdleClock } from "@sluice/core/extend";

/** A value of a {@link Registry}. */
interface RegistryEntry<Value> {
  /** The value: the same object while it is registered. */
  readonly value: Value;
  /** Number of holders; 0 for a value that waits for its disposal. */
  readonly holders: number;
}

/**
 * Values shared by key. The registry keeps a value while it has holders or is busy. After that, the value lingers,
 * unless too many others do.
 */
export interface Registry<Value> {
  /** Returns the value of `key`, and creates it if it is missing. Does not hold it. */
  get(key: unknown, create: () => Value): Value;
  /** Returns the value of `key`, or undefined. */
  peek(key: unknown): Value | undefined;
  /** All values by their keys, with the number of their holders. For developer tools. */
  readonly entries: ReadonlyMap<unknown, RegistryEntry<Value>>;
  /** Holds `value` under `key`. Adds it again if it was disposed of. Returns a function that releases it. */
  hold(key: unknown, value: Value): () => void;
  /** Calls `listener` on each `announce`. Returns a function that unsubscribes. */
  subscribe(listener: () => void): () => void;
  /**
   * Notifies the subscribers that `value` is held. Separate from `hold`, because React forbids updates during `hold`.
   */
  announce(value: Value): void;
}

/** Options of {@link createRegistry}. */
export interface RegistryOptions<Value> {
  /** Disposes of a value after its wait without holders. */
  readonly dispose: (value: Value) => void;
  /** Time that a value waits for another holder, in milliseconds. */
  readonly lingerMs: (key: unknown) => number;
  /** Returns true while a value without holders must stay. @default never */
  readonly isBusy?: (key: unknown, value: Value) => boolean;
  /** Largest number of values that wait for a holder. Beyond it, the oldest is disposed of. @default no limit */
  readonly max?: number;
  /** Clock of the wait. */
  readonly clock: Clock;
}

/**
 * Creates a registry that counts the holders of each value. It disposes of a value without holders only after
 * `lingerMs`, so that a remount, a route change or StrictMode finds the value again.
 */
export function createRegistry<Value>({
  dispose,
  lingerMs,
  isBusy = () => false,
  max = Number.POSITIVE_INFINITY,
  clock,
}: RegistryOptions<Value>): Registry<Value> {
  interface Entry {
    readonly value: Value;
    holders: number;
    leaving?: AbortController;
  }
  const entries = new Map<unknown, Entry>();
  /** Keys without holders, oldest first. */
  const left = new Set<unknown>();
  const { subscribe, notify } = createListeners<[]>();

  return {
    entries,
    peek: (key) => entries.get(key)?.value,
    get(key, create) {
      const known = entries.get(key);
      if (known) return known.value;
      const value = create();
      entries.set(key, { value, holders: 0 });
      linger(key);
      return value;
    },
    hold(key, value) {
      const entry: Entry = entries.get(key) ?? { value, holders: 0 };
      entries.set(key, entry);
      entry.leaving?.abort();
      entry.holders += 1;
      left.delete(key);
      return () => {
        entry.holders -= 1;
        if (entry.holders > 0) return;
        left.add(key);
        linger(key);
        // deferred, because React forbids updates during an unmount
        if (left.size > max) queueMicrotask(disposeOfOldest);
      };
    },
    subscribe,
    announce: notify,
  };

  function linger(key: unknown): void {
    const entry = entries.get(key);
    if (!entry) return;
    entry.leaving = new AbortController();
    // otherwise a test runner in Node would wait for minutes
    callAfter(toIdleClock(clock), lingerMs(key), entry.leaving.signal, () => {
      if (isBusy(key, entry.value)) linger(key);
      else remove(key, entry);
    });
  }

  function disposeOfOldest(): void {
    for (const key of left) {
      if (left.size <= max) return;
      const entry = entries.get(key);
      if (entry && !isBusy(key, entry.value)) remove(key, entry);
    }
  }

  function remove(key: unknown, entry: Entry): void {
    entry.leaving?.abort();
    entries.delete(key);
    left.delete(key);
    dispose(entry.value);
    notify();
  }
}
