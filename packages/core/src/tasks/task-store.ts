import { createStore, forTheSame, type Store } from "../base/store.js";
import type { Client } from "../client.js";
import { onForget } from "../storage/in-use.js";
import type { Presence } from "../tabs/page-activity.js";
import type { RequestOptions } from "../transport/send.js";
import { asError, ConfigurationError } from "../vocabulary/errors.js";
import type { Snapshot, TaskHandle, TaskKind } from "./define-task.js";
import type { Interval } from "./poll.js";
import type { Watch, WatchState } from "./shared-poller.js";
import { createWatchFollower } from "./watch-follower.js";

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

/** Options of the store of one task, or of an asset, which is one, too. */
export interface TaskStoreOptions<Task, Handle, Data, State> {
  /** Visibility and connection of the page; polling pauses while it is hidden or offline. @default the page's own */
  readonly presence?: Presence | undefined;
  /** Milliseconds from an answer to the next poll, or a function of the answer. */
  readonly intervalMs?: Interval<Task> | undefined;
  /** Polls while the page is hidden, too. @default false */
  readonly pollInBackground?: boolean | undefined;
  /**
   * Behaviour of a `create` while a task is in flight; it never sends. `join`: the promise resolves to the state of
   * the task in flight. `reject`: it resolves to a state with a `ConfigurationError`, and the store does not change.
   *
   * @default "join"
   */
  readonly whenBusy?: "join" | "reject" | undefined;
  /** Headers, timeouts and retry of the create request. */
  readonly request?: RequestOptions | undefined;
  /**
   * Called with the handle of a task as soon as the gateway has created it, even if the store was reset in the
   * meantime.
   */
  readonly onCreate?: ((handle: Handle) => void) | undefined;
  /**
   * Called once when a task has its result, with the state that shows it. If several stores with this option watch the
   * task, only one of them calls it.
   */
  readonly onSuccess?: ((data: Data, state: State) => void) | undefined;
  /**
   * Called once when a task fails, and when a `create` fails, with the state of the store. It is also called for a
   * request that had been sent before a `reset`. The state does not show that request. The `outcome` of the error shows
   * if the task may exist.
   */
  readonly onError?: ((error: Error, state: State) => void) | undefined;
}

/** The parts of a store that its kind of task does not define. */
export interface TaskStoreParts<Task, Done, Handle, State, Sending> {
  /** Makes the shown state. `sending` is set while a task is being created. */
  readonly stateOf: (
    state: TaskState<Done, Handle>,
    snapshot: Task | undefined,
    sending: Sending | undefined,
  ) => State;
  /** Returns the shared watch of a task. The watch begins with the state that is `known`. */
  readonly watchOf: (handle: Handle, known: WatchState<Task>) => Watch<Task>;
  /** Adds what is known about the task to its handle. @default nothing */
  readonly knownOf?: (handle: Handle) => Handle;
}

/** A creation that a store shows. */
export interface Creating<Sending> {
  /** Aborts when the store forgets the task. */
  readonly signal: AbortSignal;
  /** Shows progress. */
  readonly advance: (sending: Sending) => void;
  /** Returns true if an error is reported. @default true until the store forgets the task */
  isReported: () => boolean;
}

/** Store of one task: none at first, then the one that was created or attached. */
export interface TaskStore<State, Handle> extends Store<State> {
  /** Watches a task that exists already, by its handle or id. */
  attach(task: Handle | string): void;
  /** Polls now, also after an error. */
  refetch(): void;
  /** Stops watching and keeps the shown state. The gateway continues with the task. */
  detach(): void;
  /**
   * Forgets the task in this store. A request that was not sent or was refused is dropped. A request that was sent
   * continues, and `onCreate` or `onError` reports its end.
   */
  reset(): void;
}

/** A store that creates tasks. */
export interface TaskControl<State, Handle, Sending> extends TaskStore<State, Handle> {
  /**
   * Creates a task, unless one is in flight: see `whenBusy`. Never rejects.
   *
   * @param first progress that is shown at first
   */
  submit(
    first: Sending,
    create: (creating: Creating<Sending>) => Promise<Handle | undefined>,
  ): Promise<State>;
}

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
      const creation: Creation<State, Sending> = {
        type: "creating",
        sending: first,
        ended: undefined,
        forgotten: new AbortController(),
      };
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
    const advance = (next: Sending) => {
      if (!isShown()) return;
      creation.sending = next;
      store.flush();
    };
    const creating: Creating<Sending> = { signal: creation.forgotten.signal, advance, isReported: isShown };
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
