import type { Presence, Store } from "@sluice/core";
import type { Interval } from "@sluice/core/internal";
import type { StoreRequestOptions } from "../request-options.js";
import type { Watch, WatchState } from "./watch-plan.js";

/** The fields of every task's state. */
export interface TaskState<Data, Handle>
  extends Pick<WatchState<unknown>, "fetchStatus" | "pauseReason" | "nextPollAt" | "failureReason"> {
  /**
   * `idle`: no task. `pending`: the task has not ended. `success`: `data` is there. `error`: `error` says why
   * there is no result.
   */
  readonly status: "idle" | "pending" | "success" | "error";
  /**
   * Phase of a task that is `pending`: `uploading` its files, `creating` it at the gateway, or `processing`, while the
   * gateway works on it.
   */
  readonly phase: "uploading" | "creating" | "processing" | undefined;
  /** Share of the phase that is done, from 0 to 1; undefined where it is not known. */
  readonly progress: number | undefined;
  /** Handle of the task. With it, any other page or store can continue to watch the task. */
  readonly handle: Handle | undefined;
  /** The result; undefined until `status` is `success`. */
  readonly data: Data | undefined;
  /** Error that ended the task or its creation; undefined while there is none. */
  readonly error: Error | undefined;
}

/** Options of the store of one task, or of an asset, which is one, too. */
export interface TaskStoreOptions<Task, Handle, Data, State> extends StoreRequestOptions {
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
   * request that had been sent before a `reset`. The state does not show that request. The `billing` of the error shows
   * if the task may exist.
   */
  readonly onError?: ((error: Error, state: State) => void) | undefined;
}

/** The parts of a store that its kind of task does not define. */
export interface TaskStoreParts<Task, Done, Handle, State> {
  /** Makes the shown state. */
  readonly stateOf: (state: TaskState<Done, Handle>, snapshot: Task | undefined) => State;
  /** Returns the share of a task that is done. @default not known */
  readonly progressOf?: (snapshot: Task) => number | undefined;
  /** Returns the shared watch of a task. The watch begins with the state that is `known`. */
  readonly watchOf: (handle: Handle, known: WatchState<Task>) => Watch<Task>;
  /** Adds what is known about the task to its handle. @default nothing */
  readonly knownOf?: (handle: Handle) => Handle;
}

/** Phase of a creation, and the share of it that is done. */
export interface Sending {
  readonly phase: "uploading" | "creating";
  readonly progress?: number;
}

/** A creation that a store shows. */
export interface Creating {
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
export interface TaskControl<State, Handle> extends TaskStore<State, Handle> {
  /**
   * Creates a task, unless one is in flight: see `whenBusy`. Never rejects.
   *
   * @param first phase that is shown at first
   */
  submit(
    first: Sending["phase"],
    create: (creating: Creating) => Promise<Handle | undefined>,
  ): Promise<State>;
}
