import { ConfigurationError } from "../vocabulary/errors.js";
import { type Clock, callAfter, toIdleClock } from "./clock.js";
import { createListeners } from "./listeners.js";
import { noteMistake } from "./note-options.js";

/** State with subscribers, as React's `useSyncExternalStore` expects it. */
export interface Store<State> {
  /** Returns the last published state: the same object until the next change. */
  readonly getSnapshot: () => State;
  /**
   * Calls `listener` after each change, without arguments. Returns a function that unsubscribes. Reports an error of
   * `listener` as uncaught.
   */
  readonly subscribe: (listener: () => void) => () => void;
}

/** The owner's side of a store. */
export interface StoreControl<State> extends Store<State> {
  /** Reports a change. Publishes at once if `throttleMs` have passed since the last time, otherwise after that time. */
  readonly changed: () => void;
  /** Publishes at once. */
  readonly flush: () => void;
}

/** Options of {@link createStore}. */
export interface StoreOptions {
  /** The shortest time between two notifications of `changed`, in milliseconds. @default 0 */
  readonly throttleMs?: number;
  /** Clock of the throttling. */
  readonly clock: Clock;
  /** Client of a state with an `error`: mistakes in the code or the setup are printed. */
  readonly client?: { readonly hasOnEvent: boolean };
  /** Called before the first subscription. May return a function to call after the last one has ended. */
  readonly onUse?: () => (() => void) | undefined;
}

/**
 * Creates a store that computes its state when it publishes it, at most once in `throttleMs`. A thousand changes
 * between two frames cost one computation and one notification.
 */
export function createStore<State>(
  compute: () => State,
  { throttleMs = 0, clock, client, onUse }: StoreOptions,
): StoreControl<State> {
  const { subscribe, notify } = createListeners<[]>(onUse);
  let snapshot = compute();
  let publishedAt = Number.NEGATIVE_INFINITY;
  let scheduled: AbortController | undefined;

  return {
    getSnapshot: () => snapshot,
    subscribe,
    changed() {
      if (scheduled) return;
      const wait = publishedAt + throttleMs - clock.now();
      if (wait <= 0) return flush();
      scheduled = new AbortController();
      callAfter(clock, wait, scheduled.signal, flush);
    },
    flush,
  };

  function flush(): void {
    scheduled?.abort(null);
    scheduled = undefined;
    publishedAt = clock.now();
    snapshot = compute();
    if (client) noteMistake((snapshot as { readonly error?: unknown }).error, client);
    notify();
  }
}

/** Memoizes the last call of `make` by the identity of its argument. */
export function memoizeLast<Thing, Answer>(make: (thing: Thing) => Answer): (thing: Thing) => Answer {
  let last: { thing: Thing; answer: Answer } | undefined;
  return (thing) => {
    if (!last || last.thing !== thing) last = { thing, answer: make(thing) };
    return last.answer;
  };
}

/**
 * Creates a function that returns the options. Calls options that are a function at each use.
 *
 * @throws {ConfigurationError} if the options are missing
 */
export function createReader<Options extends object>(options: Options | (() => Options)): () => Options {
  if (typeof options === "function") return options;
  if (typeof options !== "object" || options === null)
    throw new ConfigurationError("the options are missing: give an object, or a function that returns one");
  return () => options;
}

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
