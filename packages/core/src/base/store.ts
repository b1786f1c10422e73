import { after, type Clock } from "./clock.js";
import { isolate } from "./isolate.js";

/** State with subscribers, in the form that `useSyncExternalStore` of React takes. */
export interface Store<State> {
  /** Returns the state as last published: the same object until the next change. */
  readonly getSnapshot: () => State;
  /**
   * Calls `listener` after each change, without arguments. Returns a function that ends the subscription. An
   * error that `listener` throws is reported as uncaught.
   */
  readonly subscribe: (listener: () => void) => () => void;
}

/** The owner's side of a store. */
export interface StoreControl<State> extends Store<State> {
  /** Something changed: publishes at once if `throttleMs` have passed since the last time, otherwise when they have. */
  readonly changed: () => void;
  /** Publishes at once. */
  readonly flush: () => void;
}

/** Options of {@link createStore}. */
export interface StoreOptions {
  /** The shortest time between two notifications of `changed`, in milliseconds. */
  readonly throttleMs: number;
  /** Clock of the throttling. */
  readonly clock: Clock;
  /** Called before the first subscription. */
  readonly onFirst?: () => void;
  /** Nobody listens any more. */
  readonly onLast?: () => void;
}

/**
 * A store whose state is computed when it is published, at most once in `throttleMs`: a thousand changes between
 * two frames cost one computation and one notification.
 */
export function createStore<State>(
  compute: () => State,
  { throttleMs, clock, onFirst, onLast }: StoreOptions,
): StoreControl<State> {
  const { subscribe, notify } = createListeners(onFirst, onLast);
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
      after(clock, wait, scheduled.signal, flush);
    },
    flush,
  };

  function flush(): void {
    scheduled?.abort();
    scheduled = undefined;
    publishedAt = clock.now();
    snapshot = compute();
    notify();
  }
}

/** Memoizes the last call of `make` by the identity of its argument. */
export function forTheSame<Thing, Answer>(make: (thing: Thing) => Answer): (thing: Thing) => Answer {
  let last: { thing: Thing; answer: Answer } | undefined;
  return (thing) => {
    if (!last || last.thing !== thing) last = { thing, answer: make(thing) };
    return last.answer;
  };
}

/** Makes a function of options that may be one already, so that they are read when they are used. */
export function readerOf<Options extends object>(options: Options | (() => Options)): () => Options {
  return typeof options === "function" ? options : () => options;
}

/** Values that are shared by key. Each is kept while it is held, and for a while after. */
export interface Registry<Value> {
  /** The value of `key`, made by `create` if there is none. Looking is not holding. */
  get(key: unknown, create: () => Value): Value;
  /** The value of `key`, if there is one. */
  peek(key: unknown): Value | undefined;
  /** Holds `value` under `key`, and brings it back if it was disposed of meanwhile; returns how to let go. */
  hold(key: unknown, value: Value): () => void;
  /** Calls `listener` on each `announce`; returns how to stop it. */
  subscribe(listener: () => void): () => void;
  /** Notifies the subscribers that `value` is held. Not part of `hold`, which may run where React allows no update. */
  announce(value: Value): void;
}

/**
 * Creates a registry that counts the holders of each value. A value without holders is disposed of only after
 * `lingerMs`, so that a remount, a route change or StrictMode finds it again.
 */
export function createRegistry<Value>({
  dispose,
  lingerMs,
  clock,
}: {
  /** Ends a value that no holder has claimed again in time. */
  dispose: (value: Value) => void;
  /** Time that a value without holders waits for another one, in milliseconds. */
  lingerMs: (key: unknown) => number;
  /** Clock of the wait. */
  clock: Clock;
}): Registry<Value> {
  interface Entry {
    readonly value: Value;
    holders: number;
    leaving?: AbortController;
  }
  const entries = new Map<unknown, Entry>();
  const { subscribe, notify } = createListeners();

  return {
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
      return () => {
        entry.holders -= 1;
        if (entry.holders === 0) linger(key);
      };
    },
    subscribe,
    announce: notify,
  };

  function linger(key: unknown): void {
    const entry = entries.get(key);
    if (!entry) return;
    entry.leaving = new AbortController();
    after(clock, lingerMs(key), entry.leaving.signal, () => {
      entries.delete(key);
      dispose(entry.value);
    });
  }
}

/** A list of subscribers. */
function createListeners(onFirst?: () => void, onLast?: () => void) {
  const listeners = new Set<() => void>();
  return {
    subscribe(listener: () => void): () => void {
      // wrapped, so that a listener given twice is two subscriptions
      const entry = () => listener();
      if (listeners.size === 0) onFirst?.();
      listeners.add(entry);
      return () => {
        if (listeners.delete(entry) && listeners.size === 0) onLast?.();
      };
    },
    notify(): void {
      for (const listener of [...listeners]) isolate(listener);
    },
  };
}
