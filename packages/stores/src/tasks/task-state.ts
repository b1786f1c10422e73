import type { Store } from "@sluice/core";
import type { StoreRequestOptions } from "../base/request-options.js";
import type { Presence } from "./page-presence.js";
import type { Interval, Watch, WatchState } from "./watch-plan.js";

/** The fields of every task's state. */
export interface TaskState<Data, Handle>
  extends Pick<WatchState<unknown>, "fetchStatus" | "pauseReason" | "nextPollAt" | "failureReason"> {
  /**
   * `idle`: no task. `pending`: the task has not ended. `success`: `data` is set. `error`: `error` has the reason.
   */
  readonly status: "idle" | "pending" | "success" | "error";
  /**
   * Phase of a `pending` task: `uploading` its files, `creating` it at the gateway, or `processing` while the gateway works
   * on it.
   */
  readonly phase: "uploading" | "creating" | "processing" | undefined;
  /** Progress of the phase, from 0 to 1; undefined if unknown. */
  readonly progress: number | undefined;
  /** Handle of the task. With it, any other page or store can continue to watch the task. */
  readonly handle: Handle | undefined;
  /** The result; undefined until `status` is `success`. */
  readonly data: Data | undefined;
  /** Error that ended the task or its creation; undefined without one. */
  readonly error: Error | undefined;
}

/** Options of the store of one task or asset. */
export interface TaskStoreOptions<Task, Handle, Data, State> extends StoreRequestOptions {
  /** Visibility and connection of the page; polling pauses while it is hidden or offline. @default the page's own */
  readonly presence?: Presence | undefined;
  /** Milliseconds from a response to the next poll, or a function of the response. */
  readonly intervalMs?: Interval<Task> | undefined;
  /** Polls while the page is hidden, too. @default false */
  readonly pollInBackground?: boolean | undefined;
  /**
   * Behavior of a `create` while a task is in flight. No value sends a second request. `join`: the promise resolves to the
   * state of the task in flight. `reject`: it resolves to a state with a `ConfigurationError`, and the store does not
   * change.
   *
   * @default "join"
   */
  readonly whenBusy?: "join" | "reject" | undefined;
  /**
   * Called with the handle of a task as soon as the gateway has created it, even if the store was reset before.
   */
  readonly onCreate?: ((handle: Handle) => void) | undefined;
  /**
   * Called once when a task has its result, with the current state. If several stores with this option watch the task, only
   * one of them calls it.
   */
  readonly onSuccess?: ((data: Data, state: State) => void) | undefined;
  /**
   * Called once when a task or a `create` fails, with the state of the store. Also called for a request that was sent
   * before a `reset`; the state does not show that request. The error's `billing` tells whether the task may exist.
   */
  readonly onError?: ((error: Error, state: State) => void) | undefined;
}

/** The functions of a store that depend on its kind of task. */
export interface TaskStoreParts<Task, Done, Handle, State> {
  /** Creates the shown state. */
  readonly createState: (state: TaskState<Done, Handle>, snapshot: Task | undefined) => State;
  /** Returns the progress of a task, from 0 to 1. @default unknown */
  readonly getProgress?: (snapshot: Task) => number | undefined;
  /** Returns the watch of a task. It begins with the state `known`. @default the shared watch of the client */
  readonly getWatch?: (handle: Handle, known: WatchState<Task>) => Watch<Task>;
  /** Returns the handle with all known fields of its task. @default the handle itself */
  readonly completeHandle?: (handle: Handle) => Handle;
}

/** Phase of a creation, and its progress from 0 to 1. */
export interface CreationStep {
  readonly phase: "uploading" | "creating";
  readonly progress?: number;
}

/** Reports the progress of a creation. */
export interface CreationReporter {
  /** Aborts when the store forgets the task. */
  readonly signal: AbortSignal;
  /** Shows a step in the state of the store. */
  readonly show: (step: CreationStep) => void;
  /** Returns true if an error must be reported. @default true until the store forgets the task */
  isReported: () => boolean;
}

/** Store of one task: empty at first, then the created or attached task. */
export interface TaskStore<State, Handle> extends Store<State> {
  /** Watches an existing task, by its handle or id. */
  attach(task: Handle | string): void;
  /** Polls now, even after an error. */
  refetch(): void;
  /** Stops watching and keeps the shown state. The task continues at the gateway, and a video is billed. */
  detach(): void;
  /**
   * Forgets the task in this store, not in a list of tasks. A request that was not sent yet is dropped. A sent request
   * continues, and `onCreate` or `onError` reports its end.
   */
  reset(): void;
}

/** A store that creates tasks. */
export interface TaskControl<State, Handle> extends TaskStore<State, Handle> {
  /**
   * Creates a task, unless one is in flight: see `whenBusy`. Never rejects.
   *
   * @param firstPhase phase at the start
   */
  submit(
    firstPhase: CreationStep["phase"],
    create: (reporter: CreationReporter) => Promise<Handle | undefined>,
  ): Promise<State>;
}
