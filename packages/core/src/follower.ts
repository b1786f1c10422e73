import { unwatched, type Watch, type WatchState } from "./watch.js";

/** A look at one watch after another, by whoever shows what they know. */
export interface Follower<Snapshot> {
  /** What is known of what is followed, or was when it was last followed. */
  readonly state: WatchState<Snapshot>;
  /** Shows what a watch knows, and hears more for as long as somebody looks. Another one only after `detach` or `forget`. */
  readonly follow: (watch: Watch<Snapshot>) => void;
  /** Hears no more, and keeps what is known. */
  readonly detach: () => void;
  /** Hears no more, and knows nothing. */
  readonly forget: () => void;
  /** Somebody looks. */
  readonly look: () => void;
  /** Nobody looks any more. */
  readonly lookAway: () => void;
}

/**
 * Creates a follower; `onNews` is told of each change, and takes it over by calling what it is given. It is not told of
 * what `follow` and `look` find.
 */
export function createFollower<Snapshot>(onNews: (take: () => void) => void): Follower<Snapshot> {
  let state: WatchState<Snapshot> = unwatched;
  let followed: Watch<Snapshot> | undefined;
  let isSeen = false;
  let stop: (() => void) | undefined;

  return {
    get state() {
      return state;
    },
    follow(watch) {
      followed = watch;
      hear();
    },
    detach() {
      leave();
      state = { ...unwatched, snapshot: state.snapshot, error: state.error };
    },
    forget() {
      leave();
      state = unwatched;
    },
    look() {
      isSeen = true;
      hear();
    },
    lookAway() {
      isSeen = false;
      quiet();
    },
  };

  function hear(): void {
    if (!followed || stop) return;
    const { getSnapshot, subscribe } = followed;
    const take = () => {
      state = getSnapshot();
    };
    if (isSeen) stop = subscribe(() => onNews(take));
    // only now: the first who looks sets it going
    take();
  }

  function quiet(): void {
    stop?.();
    stop = undefined;
  }

  function leave(): void {
    quiet();
    followed = undefined;
  }
}

/** Ends that were told: however many stores hear of one, it is the same object in all of them. */
const told = new WeakSet<object>();

/** Tells how what is followed has ended, once, by one of the stores that have somebody to tell. */
export function tellEnd<Data>(
  { error: broken, snapshot }: WatchState<object>,
  { data, error }: { readonly data: Data | undefined; readonly error: Error | undefined },
  read: () => {
    readonly onSuccess?: ((data: Data) => void) | undefined;
    readonly onError?: ((error: Error) => void) | undefined;
  },
): void {
  const end = broken ?? snapshot;
  const { onSuccess, onError } = read();
  // who has nobody to tell leaves it to those who have
  if (!end || !(data ? onSuccess : onError) || told.has(end)) return;
  told.add(end);
  queueMicrotask(() => {
    if (data) read().onSuccess?.(data);
    else if (error) read().onError?.(error);
  });
}
