import type { Scoped } from "../base/scope.js";
import { createStore, forTheSame, type Store } from "../base/store.js";
import { onForget } from "../storage/in-use.js";
import type { Connection } from "../transport/send.js";
import { asError, ConfigurationError } from "../vocabulary/errors.js";
import { unwatched, type Watch, type WatchState } from "./shared-poller.js";

/** The fields of every task's state. */
export interface TaskState<Data, Handle>
  extends Pick<WatchState<unknown>, "fetchStatus" | "pauseReason" | "nextPollAt" | "failure"> {
  /**
   * `idle`: no task. `pending`: the task has not ended. `success`: `data` is there. `error`: `error` says why
   * there is no result.
   */
  readonly status: "idle" | "pending" | "success" | "error";
  /** Handle of the task. With it, any other page or store can continue to watch the task. */
  readonly handle: Handle | undefined;
  /** The result; undefined until `status` is `success`. */
  readonly data: Data | undefined;
  /** Error that ended the task or its creation; undefined while there is none. */
  readonly error: Error | undefined;
}

/** Callbacks for a task's end. */
interface TaskCallbacks<Data, State> {
  readonly onSuccess?: ((data: Data, state: State) => void) | undefined;
  readonly onError?: ((error: Error, state: State) => void) | undefined;
}

/** Options that all kinds of tasks have. */
interface TaskOptions<Data, State> extends TaskCallbacks<Data, State> {
  readonly whenBusy?: "join" | "reject" | undefined;
}

/** The parts of a store that differ between tasks and assets. */
export interface TaskStorePlan<Snapshot, Handle, Data, State, Sending> {
  readonly client: Connection & Scoped;
  /** Returns the shared watch of a task. The watch begins with the state that is `known`. */
  readonly watchOf: (handle: Handle, known: WatchState<Snapshot>) => Watch<Snapshot>;
  /** Returns the final snapshot of a task that succeeded. */
  readonly dataOf: (snapshot: Snapshot) => Data | undefined;
  /** Makes the shown state. `sending` is set while a task is being created. */
  readonly stateOf: (
    state: TaskState<Data, Handle>,
    snapshot: Snapshot | undefined,
    sending: Sending | undefined,
  ) => State;
  /** Makes the error of a task that failed. */
  readonly failureOf: (snapshot: Snapshot, handle: Handle) => Error | undefined;
  /** Returns the current options. */
  readonly read: () => TaskOptions<Data, State>;
}

/** The creation of a task. */
export interface Creation<Handle, State, Sending> {
  /** Progress that is shown at first. */
  readonly sending: Sending;
  /** Creates the task. `signal` aborts when the store forgets it. `advance` shows progress. */
  readonly create: (signal: AbortSignal, advance: (sending: Sending) => void) => Promise<Handle | undefined>;
  /** Called after the state shows the created task or the error. With `isForgotten`, the state shows neither. */
  readonly onSettled: (created: Handle | Error | undefined, isForgotten: boolean, state: State) => void;
}

/** The store of one task: none at first, then one that was created or attached. */
export interface TaskStore<Handle, State, Sending> extends Store<State> {
  /** Creates a task, unless one is in flight: see `whenBusy`. Never rejects. */
  readonly submit: (creation: Creation<Handle, State, Sending>) => Promise<State>;
  /** Watches a task that exists. */
  readonly attach: (handle: Handle) => void;
  /** Polls now, also after an error or `detach`. */
  readonly refetch: () => void;
  /** Stops watching, and keeps the state. */
  readonly detach: () => void;
  /** Stops watching, and forgets the task. */
  readonly reset: () => void;
}

/** Creates the store of one task. It watches the task while it has subscribers. */
export function createTaskStore<
  Snapshot extends object,
  Handle extends { readonly id: string },
  Data,
  State extends TaskState<Data, Handle>,
  Sending,
>({
  client,
  watchOf,
  dataOf,
  stateOf,
  failureOf,
  read,
}: TaskStorePlan<Snapshot, Handle, Data, State, Sending>): TaskStore<Handle, State, Sending> {
  let watched: WatchState<Snapshot> = unwatched;
  let watch: Watch<Snapshot> | undefined;
  let stop: (() => void) | undefined;
  let isWatching = false;
  let hasSubscribers = false;
  let handle: Handle | undefined;
  let sending: Sending | undefined;
  let submitting: Promise<State> | undefined;
  let submitError: Error | undefined;
  /** Aborted when the task is forgotten. */
  let creating = new AbortController();
  const failed = forTheSame((snapshot: Snapshot | undefined) =>
    snapshot && handle ? failureOf(snapshot, handle) : undefined,
  );
  const store = createStore(compute, {
    clock: client.clock,
    onUse() {
      const leaveClient = onForget(client, reset);
      hasSubscribers = true;
      startWatching();
      store.flush();
      return () => {
        hasSubscribers = false;
        leaveClient();
        leave();
      };
    },
  });

  return {
    getSnapshot: store.getSnapshot,
    subscribe: store.subscribe,
    submit(creation) {
      const state = store.getSnapshot();
      if (submitting || compute().status === "pending")
        return read().whenBusy === "reject"
          ? Promise.resolve({ ...state, status: "error", error: new ConfigurationError(BUSY) })
          : (submitting ?? Promise.resolve(state));
      forget();
      sending = creation.sending;
      submitting = create(creation, creating.signal);
      store.flush();
      return submitting;
    },
    attach(reference) {
      if (reference.id === handle?.id) return;
      forget();
      show(reference);
      store.flush();
    },
    refetch() {
      if (!handle) return;
      if (!stop) watched = { ...watched, error: undefined };
      show(handle);
      watch?.refetch();
      store.flush();
    },
    detach() {
      leave();
      isWatching = false;
      watched = { ...unwatched, snapshot: watched.snapshot, error: watched.error };
      store.flush();
    },
    reset,
  };

  function compute(): State {
    const { snapshot, fetchStatus, pauseReason, nextPollAt, failure } = watched;
    const data = snapshot && dataOf(snapshot);
    const error = submitError ?? watched.error ?? failed(snapshot);
    const status = data ? "success" : error ? "error" : sending || handle ? "pending" : "idle";
    const state = { status, handle, data, error, fetchStatus, pauseReason, nextPollAt, failure } as const;
    return stateOf(state, snapshot, sending);
  }

  async function create(
    { create, onSettled }: Creation<Handle, State, Sending>,
    signal: AbortSignal,
  ): Promise<State> {
    const advance = (next: Sending) => {
      if (signal.aborted) return;
      sending = next;
      store.flush();
    };
    const created = await (async () => create(signal, advance))().catch(asError);
    const isForgotten = signal.aborted;
    if (!isForgotten) {
      submitting = undefined;
      sending = undefined;
      if (created instanceof Error) submitError = created;
      else if (created) show(created);
    }
    queueMicrotask(() => onSettled(created, isForgotten, store.getSnapshot()));
    if (!isForgotten) store.flush();
    return store.getSnapshot();
  }

  function show(reference: Handle): void {
    handle = reference;
    isWatching = true;
    startWatching();
  }

  function startWatching(): void {
    if (!handle || !isWatching || stop) return;
    watch = watchOf(handle, watched);
    if (hasSubscribers) stop = watch.subscribe(update);
    // after subscribing, because the first subscriber starts the watch
    watched = watch.getSnapshot();
  }

  function update(): void {
    const before = compute().status;
    watched = watch?.getSnapshot() ?? watched;
    if (before === "pending") reportEnd(watched, compute(), read);
    store.flush();
  }

  function leave(): void {
    stop?.();
    stop = undefined;
    watch = undefined;
  }

  function reset(): void {
    forget();
    store.flush();
  }

  function forget(): void {
    leave();
    isWatching = false;
    watched = unwatched;
    creating.abort(new DOMException("The task was forgotten before it was sent", "AbortError"));
    creating = new AbortController();
    submitting = undefined;
    sending = undefined;
    submitError = undefined;
    handle = undefined;
  }
}

const BUSY = "nothing was sent: a task is in flight; wait for its end, or call reset(), and pay for both";

/** Ends that were reported. All stores of a task get the same object. */
const reported = new WeakSet<object>();

/** Calls back once for the end of a task, from one of the stores that have such a callback. */
function reportEnd<Data, State extends Pick<TaskState<Data, unknown>, "data" | "error">>(
  { error: broken, snapshot }: WatchState<object>,
  state: State,
  read: () => TaskCallbacks<Data, State>,
): void {
  const { data, error } = state;
  const end = broken ?? snapshot;
  const { onSuccess, onError } = read();
  if (!end || !(data ? onSuccess : onError) || reported.has(end)) return;
  reported.add(end);
  queueMicrotask(() => {
    if (data) read().onSuccess?.(data, state);
    else if (error) read().onError?.(error, state);
  });
}
