import { unwatched, type Watch, type WatchState } from "./watch-plan.js";

/** Subscription of one store to the shared watch of its task. */
export interface WatchSubscription<Task, Handle> {
  /** Last state of the watch. It does not change while the store is not subscribed. */
  readonly state: WatchState<Task>;
  /** Subscribes to a task. Its watch runs while the store is used. Returns the watch. */
  watch(handle: Handle): Watch<Task>;
  /** Polls now, even after an error. */
  refetch(handle: Handle): void;
  /** Unsubscribes, and resets the state to these fields. @default the state before the first poll */
  stop(known?: Partial<WatchState<Task>>): void;
  /** Begins the use of the store. Returns a function that ends it. */
  use(): () => void;
}

/**
 * Creates a subscription without a task.
 *
 * @param onUpdate called with the state before each change of the watch
 */
export function createWatchSubscription<Task, Handle>(
  getWatch: (handle: Handle, known: WatchState<Task>) => Watch<Task>,
  onUpdate: (before: WatchState<Task>) => void,
): WatchSubscription<Task, Handle> {
  let state: WatchState<Task> = unwatched;
  let current: Handle | undefined;
  let isUsed = false;
  let subscription: { readonly watch: Watch<Task>; readonly end: () => void } | undefined;

  return {
    get state() {
      return state;
    },
    watch,
    refetch(handle) {
      if (!subscription) state = { ...state, error: undefined };
      watch(handle).refetch();
    },
    stop(known) {
      current = undefined;
      unsubscribe();
      state = { ...unwatched, ...known };
    },
    use() {
      isUsed = true;
      if (current) watch(current);
      return () => {
        isUsed = false;
        unsubscribe();
      };
    },
  };

  function watch(handle: Handle): Watch<Task> {
    current = handle;
    if (subscription) return subscription.watch;
    const watch = getWatch(handle, state);
    if (isUsed) subscription = { watch, end: watch.subscribe(() => update(watch)) };
    // after subscribing, because the first subscriber starts the watch
    state = watch.getSnapshot();
    return watch;
  }

  function update(watch: Watch<Task>): void {
    const before = state;
    state = watch.getSnapshot();
    onUpdate(before);
  }

  function unsubscribe(): void {
    subscription?.end();
    subscription = undefined;
  }
}
