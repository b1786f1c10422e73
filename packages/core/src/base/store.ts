import { ConfigurationError } from "../types/errors.js";
import { type Clock, callAfter, systemClock } from "./clock.js";
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
  /** Clock of the throttling. @default systemClock */
  readonly clock?: Clock;
  /** Client of a state with an `error`: mistakes in the code or the setup are printed. */
  readonly client?: {
    /** True if the app reads the events: nothing is printed then. */
    readonly hasOnEvent: boolean;
  };
  /** Called before the first subscription. May return a function to call after the last one has ended. */
  readonly onUse?: () => (() => void) | undefined;
}

/**
 * Creates a store that computes its state when it publishes it, at most once in `throttleMs`. A thousand changes
 * between two frames cost one computation and one notification.
 *
 * @example
 * ```ts
 * let tokens = 0;
 * const usage = createStore(() => ({ tokens }), { clock: client.clock, throttleMs: 100 });
 * subscribeToEvents(client, (event) => {
 *   if (event.type !== "end") return;
 *   tokens += Number(event.usage?.["total_tokens"] ?? 0);
 *   usage.changed();
 * });
 * ```
 */
export function createStore<State>(
  compute: () => State,
  { throttleMs = 0, clock = systemClock, client, onUse }: StoreOptions = {},
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

/**
 * Creates a function that returns the options. Calls options that are a function at each use.
 *
 * @throws {ConfigurationError} if the options are missing
 * @example
 * ```ts
 * const read = createOptionsReader({ limit: 5 });
 * show(read().limit);
 * ```
 */
export function createOptionsReader<Options extends object>(
  options: Options | (() => Options),
): () => Options {
  if (typeof options === "function") return options;
  if (typeof options !== "object" || options === null)
    throw new ConfigurationError("the options are missing: give an object, or a function that returns one");
  return () => options;
}
