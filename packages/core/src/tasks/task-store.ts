import { createStore, forTheSame } from "../base/store.js";
import type { Client } from "../client.js";
import { onForget } from "../storage/in-use.js";
import { asError, ConfigurationError } from "../vocabulary/errors.js";
import type { Snapshot, TaskHandle, TaskKind } from "./define-task.js";
import type { Creating, TaskControl, TaskState, TaskStoreOptions, TaskStoreParts } from "./task-state.js";
import { createWatchFollower } from "./watch-follower.js";
import type { WatchState } from "./watch-plan.js";

/** Phase of a store: what it knows about a task. */
type Phase<State, Handle, Sending> =
  | { readonly type: "empty" }
  | Creation<State, Sending>
  | { readonly type: "refused"; readonly error: Error }
  | { readonly type: "attached"; readonly handle: Handle };

/** The phase of a store that waits for the end of a `create`. */
interface Creation<State, Sending> {
  readonly type: "creating";
  /** Progress that is shown. */
  sending: Sending;
  /** The result of `submit`. */
  ended: Promise<State> | undefined;
  /** Aborted when the store forgets the task. */
  readonly forgotten: AbortController;
}

function creationOf<State, Sending>(sending: Sending): Creation<State, Sending> {
  return { type: "creating", sending, ended: undefined, forgotten: new AbortController() };
}

/** Makes what a creation shows its progress with, for as long as the store shows the creation. */
function creatingOf<Sending>(
  creation: Creation<unknown, Sending>,
  isShown: () => boolean,
  onChange: () => void,
): Creating<Sending> {
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
  Sending,
>(
  kind: TaskKind<Task, Done, Handle>,
  client: Client,
  read: () => TaskStoreOptions<Task, Handle, Done, State>,
  { watchOf, stateOf, knownOf = (task) => task }: TaskStoreParts<Task, Done, Handle, State, Sending>,
): TaskControl<State, Handle, Sending> {
  let phase: Phase<State, Handle, Sending> = { type: "empty" };
  const follower = createWatchFollower(watchOf, onUpdate);
  const failed = forTheSame((snapshot: Task | undefined) =>
    snapshot?.state === kind.failure && phase.type === "attached"
      ? kind.failureOf(snapshot, knownOf(phase.handle))
      : undefined,
  );
  const store = createStore(() => shown(follower.state), {
    clock: client.clock,
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
      const ended = phase.type === "creating" ? phase.ended : undefined;
      if (ended || shown(follower.state).status === "pending")
        return read().whenBusy === "reject"
          ? Promise.resolve({ ...state, status: "error", error: new ConfigurationError(BUSY) })
          : (ended ?? Promise.resolve(state));
      forget();
      const creation = creationOf<State, Sending>(first);
      phase = creation;
      creation.ended = settle(creation, create);
      store.flush();
      return creation.ended;
    },
    attach(task) {
      const handle = kind.handleOf(task);
      if (phase.type === "attached" && phase.handle.id === handle.id) return;
      forget();
      show(handle);
      store.flush();
    },
    refetch() {
      if (phase.type !== "attached") return;
      follower.refetch(phase.handle);
      store.flush();
    },
    detach() {
      follower.stop();
      store.flush();
    },
    reset,
  };

  /** Makes the state that the phase and a state of the watch are shown as. */
  function shown(watched: WatchState<Task>): State {
    const { snapshot, fetchStatus, pauseReason, nextPollAt, failure } = watched;
    const handle = phase.type === "attached" ? phase.handle : undefined;
    const sending = phase.type === "creating" ? phase.sending : undefined;
    const data = snapshot && kind.dataOf(snapshot);
    const error = phase.type === "refused" ? phase.error : (watched.error ?? failed(snapshot));
    const status = data ? "success" : error ? "error" : phase.type === "empty" ? "idle" : "pending";
    const state = { status, handle, data, error, fetchStatus, pauseReason, nextPollAt, failure } as const;
    return stateOf(state, snapshot, sending);
  }

  /** Runs a creation to its end, and reports that, also where the store has forgotten it. */
  async function settle(
    creation: Creation<State, Sending>,
    create: (creating: Creating<Sending>) => Promise<Handle | undefined>,
  ): Promise<State> {
    const isShown = () => phase === creation;
    const creating = creatingOf(creation, isShown, store.flush);
    const created = await (async () => create(creating))().catch(asError);
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
    if (created instanceof Error) phase = { type: "refused", error: created };
    else if (created) show(created);
    else phase = { type: "empty" };
  }

  function show(handle: Handle): void {
    phase = { type: "attached", handle };
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
    const { forgotten } = phase.type === "creating" ? phase : {};
    phase = { type: "empty" };
    follower.clear();
    forgotten?.abort(new DOMException("The task was forgotten before it was sent", "AbortError"));
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
