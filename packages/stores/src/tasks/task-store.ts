import { type Client, ConfigurationError } from "@sluice/core";
import { createStore, type TaskKind, toError } from "@sluice/core/extend";
import { registerForget } from "../storage/in-use.js";
import type {
  CreationReporter,
  Sending,
  TaskControl,
  TaskState,
  TaskStoreOptions,
  TaskStoreParts,
} from "./task-state.js";
import type { Snapshot, TaskHandle, WatchState } from "./watch-plan.js";
import { createWatchSubscription } from "./watch-subscription.js";

/** Phase of a store: empty, or with exactly one of these fields. */
type Phase<State, Handle> =
  | { readonly creation?: never; readonly refusal?: never; readonly handle?: never }
  | { readonly creation: Creation<State>; readonly refusal?: never; readonly handle?: never }
  | { readonly creation?: never; readonly refusal: Error; readonly handle?: never }
  | { readonly creation?: never; readonly refusal?: never; readonly handle: Handle };

/** A `create` that has not ended. */
interface Creation<State> {
  /** Shown phase and progress. */
  sending: Sending;
  /** The result of `submit`. */
  ended?: Promise<State>;
  /** Aborted when the store forgets the task. */
  readonly forgotten: AbortController;
}

/** Creates the object that reports the progress of a creation while the store shows it. */
function createReporter(
  creation: Creation<unknown>,
  isShown: () => boolean,
  onChange: () => void,
): CreationReporter {
  return {
    signal: creation.forgotten.signal,
    isReported: isShown,
    advance(sending) {
      if (!isShown()) return;
      creation.sending = sending;
      onChange();
    },
  };
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
  read: () => TaskStoreOptions<Task, Handle, Done, State>,
  {
    getWatch,
    createState,
    getProgress,
    addKnown = (task) => task,
  }: TaskStoreParts<Task, Done, Handle, State>,
): TaskControl<State, Handle> {
  let phase: Phase<State, Handle> = {};
  const subscription = createWatchSubscription(getWatch, onUpdate);
  const findFailure = memoizeLast((snapshot: Task | undefined) =>
    snapshot?.state === kind.failure && phase.handle
      ? kind.toFailure(snapshot, addKnown(phase.handle))
      : undefined,
  );
  const store = createStore(() => createShownState(subscription.state), {
    clock: client.clock,
    client,
    onUse() {
      const unregister = registerForget(client, reset);
      const unsubscribe = subscription.use();
      store.flush();
      return () => {
        unregister();
        unsubscribe();
      };
    },
  });

  return {
    getSnapshot: store.getSnapshot,
    subscribe: store.subscribe,
    submit(first, create) {
      const state = store.getSnapshot();
      const ended = phase.creation?.ended;
      if (ended || createShownState(subscription.state).status === "pending")
        return read().whenBusy === "reject"
          ? Promise.resolve({ ...state, status: "error", error: new ConfigurationError(BUSY) })
          : (ended ?? Promise.resolve(state));
      forget();
      const creation: Creation<State> = { sending: { phase: first }, forgotten: new AbortController() };
      phase = { creation };
      creation.ended = endCreation(creation, create);
      store.flush();
      return creation.ended;
    },
    attach(task) {
      const handle = kind.toHandle(task);
      if (phase.handle?.id === handle.id) return;
      forget();
      show(handle);
      store.flush();
    },
    refetch() {
      if (!phase.handle) return;
      subscription.refetch(phase.handle);
      store.flush();
    },
    detach() {
      const { snapshot, error } = subscription.state;
      subscription.stop({ snapshot, error });
      store.flush();
    },
    reset,
  };

  /** Creates the shown state from the phase and a state of the watch. */
  function createShownState(watched: WatchState<Task>): State {
    const { snapshot, fetchStatus, pauseReason, nextPollAt, failureReason } = watched;
    const { creation, refusal, handle } = phase;
    const data = snapshot && kind.toDone(snapshot);
    const error = refusal ?? watched.error ?? findFailure(snapshot);
    const status = data ? "success" : error ? "error" : creation || handle ? "pending" : "idle";
    const { phase: step = status === "pending" ? "processing" : undefined, progress } = creation?.sending ?? {
      progress: data ? 1 : snapshot && getProgress?.(snapshot),
    };
    const rest = { fetchStatus, pauseReason, nextPollAt, failureReason };
    return createState({ status, phase: step, progress, handle, data, error, ...rest }, snapshot);
  }

  /** Waits for the end of a creation and reports it, even if the store has forgotten the creation. */
  async function endCreation(
    creation: Creation<State>,
    create: (reporter: CreationReporter) => Promise<Handle | undefined>,
  ): Promise<State> {
    const isShown = () => phase.creation === creation;
    const reporter = createReporter(creation, isShown, store.flush);
    const created = await (async () => create(reporter))().catch(toError);
    const isReported = reporter.isReported();
    const isForgotten = !isShown();
    if (!isForgotten) end(created);
    queueMicrotask(() => {
      const { onCreate, onError } = read();
      if (created instanceof Error) isReported && onError?.(created, store.getSnapshot());
      else if (created) onCreate?.(created);
    });
    if (!isForgotten) store.flush();
    return store.getSnapshot();
  }

  /** Ends the shown creation. */
  function end(created: Handle | Error | undefined): void {
    if (created instanceof Error) phase = { refusal: created };
    else if (created) show(created);
    else phase = {};
  }

  function show(handle: Handle): void {
    phase = { handle };
    subscription.watch(handle);
  }

  function onUpdate(before: WatchState<Task>): void {
    const { status } = createShownState(before);
    if (status === "pending") reportEnd(subscription.state, createShownState(subscription.state), read);
    store.flush();
  }

  function reset(): void {
    forget();
    store.flush();
  }

  function forget(): void {
    const { creation } = phase;
    phase = {};
    subscription.stop();
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
  read: () => Pick<TaskStoreOptions<unknown, unknown, Data, State>, "onSuccess" | "onError">,
): void {
  const { data, error } = state;
  const end = watchError ?? snapshot;
  const { onSuccess, onError } = read();
  if (!end || !(data ? onSuccess : onError) || reported.has(end)) return;
  reported.add(end);
  queueMicrotask(() => {
    if (data) read().onSuccess?.(data, state);
    else if (error) read().onError?.(error, state);
  });
}

/** Memoizes the last call of `make` by the identity of its argument. */
export function memoizeLast<Thing, Answer>(make: (thing: Thing) => Answer): (thing: Thing) => Answer {
  let last: { thing: Thing; answer: Answer } | undefined;
  return (thing) => {
    if (!last || last.thing !== thing) last = { thing, answer: make(thing) };
    return last.answer;
  };
}
