import { type Client, ConfigurationError } from "@sluice/core";
import {
  createStore,
  memoizeLast,
  type Snapshot,
  type TaskHandle,
  type TaskKind,
  toError,
} from "@sluice/core/internal";
import { onForget } from "../storage/in-use.js";
import type {
  Creating,
  Sending,
  TaskControl,
  TaskState,
  TaskStoreOptions,
  TaskStoreParts,
} from "./task-state.js";
import { createWatchFollower } from "./watch-follower.js";
import type { WatchState } from "./watch-plan.js";

/** Phase of a store: it is empty, or has one of these. */
type Phase<State, Handle> =
  | { readonly creation?: never; readonly refusal?: never; readonly handle?: never }
  | { readonly creation: Creation<State>; readonly refusal?: never; readonly handle?: never }
  | { readonly creation?: never; readonly refusal: Error; readonly handle?: never }
  | { readonly creation?: never; readonly refusal?: never; readonly handle: Handle };

/** A `create` that has not ended. */
interface Creation<State> {
  /** Phase and progress that are shown. */
  sending: Sending;
  /** The result of `submit`. */
  ended?: Promise<State>;
  /** Aborted when the store forgets the task. */
  readonly forgotten: AbortController;
}

/** Makes what a creation shows its progress with, for as long as the store shows the creation. */
function creatingOf(creation: Creation<unknown>, isShown: () => boolean, onChange: () => void): Creating {
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
  { watchOf, stateOf, progressOf, knownOf = (task) => task }: TaskStoreParts<Task, Done, Handle, State>,
): TaskControl<State, Handle> {
  let phase: Phase<State, Handle> = {};
  const follower = createWatchFollower(watchOf, onUpdate);
  const failed = memoizeLast((snapshot: Task | undefined) =>
    snapshot?.state === kind.failure && phase.handle
      ? kind.toFailure(snapshot, knownOf(phase.handle))
      : undefined,
  );
  const store = createStore(() => shown(follower.state), {
    clock: client.clock,
    client,
    onUse() {
      const leaveClient = onForget(client, reset);
      const leave = follower.use();
      store.flush();
      return () => {
        leaveClient();
        leave();
      };
    },
  });

  return {
    getSnapshot: store.getSnapshot,
    subscribe: store.subscribe,
    submit(first, create) {
      const state = store.getSnapshot();
      const ended = phase.creation?.ended;
      if (ended || shown(follower.state).status === "pending")
        return read().whenBusy === "reject"
          ? Promise.resolve({ ...state, status: "error", error: new ConfigurationError(BUSY) })
          : (ended ?? Promise.resolve(state));
      forget();
      const creation: Creation<State> = { sending: { phase: first }, forgotten: new AbortController() };
      phase = { creation };
      creation.ended = settle(creation, create);
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
      follower.refetch(phase.handle);
      store.flush();
    },
    detach() {
      const { snapshot, error } = follower.state;
      follower.stop({ snapshot, error });
      store.flush();
    },
    reset,
  };

  /** Makes the state that the phase and a state of the watch are shown as. */
  function shown(watched: WatchState<Task>): State {
    const { snapshot, fetchStatus, pauseReason, nextPollAt, failureReason } = watched;
    const { creation, refusal, handle } = phase;
    const data = snapshot && kind.toDone(snapshot);
    const error = refusal ?? watched.error ?? failed(snapshot);
    const status = data ? "success" : error ? "error" : creation || handle ? "pending" : "idle";
    const { phase: step = status === "pending" ? "processing" : undefined, progress } = creation?.sending ?? {
      progress: data ? 1 : snapshot && progressOf?.(snapshot),
    };
    const rest = { fetchStatus, pauseReason, nextPollAt, failureReason };
    return stateOf({ status, phase: step, progress, handle, data, error, ...rest }, snapshot);
  }

  /** Runs a creation to its end, and reports that, also where the store has forgotten it. */
  async function settle(
    creation: Creation<State>,
    create: (creating: Creating) => Promise<Handle | undefined>,
  ): Promise<State> {
    const isShown = () => phase.creation === creation;
    const creating = creatingOf(creation, isShown, store.flush);
    const created = await (async () => create(creating))().catch(toError);
    const isReported = creating.isReported();
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

  /** Ends the creation that is shown. */
  function end(created: Handle | Error | undefined): void {
    if (created instanceof Error) phase = { refusal: created };
    else if (created) show(created);
    else phase = {};
  }

  function show(handle: Handle): void {
    phase = { handle };
    follower.follow(handle);
  }

  function onUpdate(before: WatchState<Task>): void {
    const { status } = shown(before);
    if (status === "pending") reportEnd(follower.state, shown(follower.state), read);
    store.flush();
  }

  function reset(): void {
    forget();
    store.flush();
  }

  function forget(): void {
    const { creation } = phase;
    phase = {};
    follower.stop();
    creation?.forgotten.abort(new DOMException("The task was forgotten before it was sent", "AbortError"));
  }
}

const BUSY = "nothing was sent: a task is in flight; wait for its end, or call reset(), and pay for both";

/** Ends that were reported. All stores of a task get the same object. */
const reported = new WeakSet<object>();

/** Calls back once for the end of a task, from one of the stores that have such a callback. */
function reportEnd<Data, State extends Pick<TaskState<Data, unknown>, "data" | "error">>(
  { error: broken, snapshot }: WatchState<object>,
  state: State,
  read: () => Pick<TaskStoreOptions<unknown, unknown, Data, State>, "onSuccess" | "onError">,
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
