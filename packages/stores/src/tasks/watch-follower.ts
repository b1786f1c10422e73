import { unwatched, type Watch, type WatchState } from "./watch-plan.js";

/** Subscription of one store to the shared watch of its task. */
export interface WatchFollower<Task, Handle> {
  /** Last state of the watch. It stays while the store has no subscribers. */
  readonly state: WatchState<Task>;
  /** Follows a task from now on: its watch runs while the store is used. Returns the watch. */
  follow(handle: Handle): Watch<Task>;
  /** Polls now, also after an error. */
  refetch(handle: Handle): void;
  /** Stops following. Only these fields are still known. @default nothing */
  stop(known?: Partial<WatchState<Task>>): void;
  /** Begins the use of the store. Returns a function that ends it. */
  use(): () => void;
}

/**
 * Creates a follower that follows nothing.
 *
 * @param onUpdate called with the state before each change of the watch
 */
export function createWatchFollower<Task, Handle>(
  watchOf: (handle: Handle, known: WatchState<Task>) => Watch<Task>,
  onUpdate: (before: WatchState<Task>) => void,
): WatchFollower<Task, Handle> {
  let state: WatchState<Task> = unwatched;
  let followed: Handle | undefined;
  let isUsed = false;
  let subscription: { readonly watch: Watch<Task>; readonly end: () => void } | undefined;

  return {
    get state() {
      return state;
    },
    follow,
    refetch(handle) {
      if (!subscription) state = { ...state, error: undefined };
      follow(handle).refetch();
    },
    stop(known) {
      followed = undefined;
      unsubscribe();
      state = { ...unwatched, ...known };
    },
    use() {
      isUsed = true;
      if (followed) follow(followed);
      return () => {
        isUsed = false;
        unsubscribe();
      };
    },
  };

  function follow(handle: Handle): Watch<Task> {
    followed = handle;
    if (subscription) return subscription.watch;
    const watch = watchOf(handle, state);
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
