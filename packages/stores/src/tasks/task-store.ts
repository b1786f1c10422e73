import { type Client, ConfigurationError } from "@sluice/core";
import { createStore, type TaskKind, toError } from "@sluice/core/extend";
import { registerForget } from "../storage/forget.js";
import { getSharedWatch } from "./shared-poller.js";
import type {
  CreationReporter,
  CreationStep,
  TaskControl,
  TaskState,
  TaskStoreOptions,
  TaskStoreParts,
} from "./task-state.js";
import { type Snapshot, type TaskHandle, unwatched, type Watch, type WatchState } from "./watch-plan.js";

/** State of a store: at most one of these fields is set. */
interface Shown<State, Handle> {
  readonly creation?: Creation<State>;
  readonly creationError?: Error;
  readonly handle?: Handle;
}

/** A `create` that has not ended. */
interface Creation<State> {
  step: CreationStep;
  /** The result of `submit`. */
  ended?: Promise<State>;
  /** Aborted when the store forgets the task. */
  readonly forgotten: AbortController;
}

/** Creates the store of one task. It watches the task while it has subscribers. */
export function createTaskStore<
  Task extends Snapshot,
  Done extends Task,
  Handle extends TaskHandle,
  State extends TaskState<Done, Handle>,
>(
  kind: TaskKind<Task, Done, Handle>,
  client: Client,
  readOptions: () => TaskStoreOptions<Task, Handle, Done, State>,
  {
    getWatch = (handle, known) =>
      getSharedWatch({
        kind,
        client,
        known,
        getHandle: () => handle,
        readSettings: readOptions,
        presence: readOptions().presence,
      }),
    createState,
    getProgress,
    completeHandle = (handle) => handle,
  }: TaskStoreParts<Task, Done, Handle, State>,
): TaskControl<State, Handle> {
  let shown: Shown<State, Handle> = {};
  /** Last state of the watch. It does not change while the store is not subscribed. */
  let watchState: WatchState<Task> = unwatched;
  /** The task to watch while the store is used; undefined after `detach`. */
  let watchedHandle: Handle | undefined;
  let isUsed = false;
  let subscription: { readonly watch: Watch<Task>; readonly end: () => void } | undefined;
  const findFailure = memoizeLast((snapshot: Task | undefined) =>
    snapshot?.state === kind.failure && shown.handle
      ? kind.toFailure(snapshot, completeHandle(shown.handle))
      : undefined,
  );
  const store = createStore(createShownState, {
    clock: client.clock,
    client,
    onUse() {
      const unregister = registerForget(client, reset);
      isUsed = true;
      if (watchedHandle) watch(watchedHandle);
      store.flush();
      return () => {
        unregister();
        isUsed = false;
        unsubscribe();
      };
    },
  });

  return {
    getSnapshot: store.getSnapshot,
    subscribe: store.subscribe,
    submit(firstPhase, create) {
      const state = store.getSnapshot();
      const ended = shown.creation?.ended;
      if (ended || createShownState().status === "pending")
        return readOptions().whenBusy === "reject"
          ? Promise.resolve({ ...state, status: "error", error: new ConfigurationError(BUSY) })
          : (ended ?? Promise.resolve(state));
      forget();
      const creation: Creation<State> = { step: { phase: firstPhase }, forgotten: new AbortController() };
      shown = { creation };
      creation.ended = endCreation(creation, create);
      store.flush();
      return creation.ended;
    },
    attach(task) {
      const handle = kind.toHandle(task);
      if (shown.handle?.id === handle.id) return;
      forget();
      show(handle);
      store.flush();
    },
    refetch() {
      const { handle } = shown;
      if (!handle) return;
      if (!subscription) watchState = { ...watchState, error: undefined };
      watch(handle).refetch();
      store.flush();
    },
    detach() {
      const { snapshot, error } = watchState;
      stopWatching();
      watchState = { ...unwatched, snapshot, error };
      store.flush();
    },
    reset,
  };

  function createShownState(): State {
    const { snapshot, error: watchError, ...rest } = watchState;
    const { creation, creationError } = shown;
    const handle = shown.handle && completeHandle(shown.handle);
    const data = snapshot && kind.toDone(snapshot);
    const error = creationError ?? watchError ?? findFailure(snapshot);
    const status = data ? "success" : error ? "error" : creation || handle ? "pending" : "idle";
    const { phase = status === "pending" ? "processing" : undefined, progress } = creation?.step ?? {
      progress: data ? 1 : snapshot && getProgress?.(snapshot),
    };
    return createState({ status, phase, progress, handle, data, error, ...rest }, snapshot);
  }

  /** Waits for the end of a creation and reports it, even if the store has forgotten the creation. */
  async function endCreation(
    creation: Creation<State>,
    create: (reporter: CreationReporter) => Promise<Handle | undefined>,
  ): Promise<State> {
    const isShown = () => shown.creation === creation;
    const reporter: CreationReporter = {
      signal: creation.forgotten.signal,
      isReported: isShown,
      show(step) {
        if (!isShown()) return;
        creation.step = step;
        store.flush();
      },
    };
    const created = await (async () => create(reporter))().catch(toError);
    const isReported = reporter.isReported();
    const isForgotten = !isShown();
    if (!isForgotten) {
      shown = created instanceof Error ? { creationError: created } : {};
      if (created && !(created instanceof Error)) show(created);
    }
    queueMicrotask(() => {
      const { onCreate, onError } = readOptions();
      if (created instanceof Error) isReported && onError?.(created, store.getSnapshot());
      else if (created) onCreate?.(created);
    });
    if (!isForgotten) store.flush();
    return store.getSnapshot();
  }

  function show(handle: Handle): void {
    shown = { handle };
    watch(handle);
  }

  /** Subscribes to a task while the store is used. Returns the watch. */
  function watch(handle: Handle): Watch<Task> {
    watchedHandle = handle;
    if (subscription) return subscription.watch;
    const found = getWatch(handle, watchState);
    if (isUsed) subscription = { watch: found, end: found.subscribe(() => update(found)) };
    // after subscribing, because the first subscriber starts the watch
    watchState = found.getSnapshot();
    return found;
  }

  function update(found: Watch<Task>): void {
    const { status } = createShownState();
    watchState = found.getSnapshot();
    if (status === "pending") reportEnd(watchState, createShownState(), readOptions);
    store.flush();
  }

  function unsubscribe(): void {
    subscription?.end();
    subscription = undefined;
  }

  function stopWatching(): void {
    watchedHandle = undefined;
    unsubscribe();
    watchState = unwatched;
  }

  function reset(): void {
    forget();
    store.flush();
  }

  function forget(): void {
    const { creation } = shown;
    shown = {};
    stopWatching();
    creation?.forgotten.abort(new DOMException("The task was forgotten before it was sent", "AbortError"));
  }
}

const BUSY = "nothing was sent: a task is in flight; wait for its end, or call reset(), and pay for both";

/** Reported ends. All stores of a task share the same object. */
const reported = new WeakSet<object>();

/** Calls back once for the end of a task, from one of the stores with such a callback. */
function reportEnd<Data, State extends Pick<TaskState<Data, unknown>, "data" | "error">>(
  { error: watchError, snapshot }: WatchState<object>,
  state: State,
  readOptions: () => Pick<TaskStoreOptions<unknown, unknown, Data, State>, "onSuccess" | "onError">,
): void {
  const { data, error } = state;
  const end = watchError ?? snapshot;
  const { onSuccess, onError } = readOptions();
  if (!end || !(data ? onSuccess : onError) || reported.has(end)) return;
  reported.add(end);
  queueMicrotask(() => {
    if (data) readOptions().onSuccess?.(data, state);
    else if (error) readOptions().onError?.(error, state);
  });
}

/** Memoizes the last call of `compute` by the identity of its argument. */
function memoizeLast<Input, Result>(compute: (input: Input) => Result): (input: Input) => Result {
  let last: { input: Input; result: Result } | undefined;
  return (input) => {
    if (!last || last.input !== input) last = { input, result: compute(input) };
    return last.result;
  };
}
