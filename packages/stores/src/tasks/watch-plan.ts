import type { Client, Store, WatchOptions } from "@sluice/core";
import type { TaskKind } from "@sluice/core/extend";
import type { Absence, Presence } from "./page-presence.js";

/** State of a polled task or asset. */
export interface WatchState<Snapshot> {
  /** The newest response; the same object until a response differs. */
  readonly snapshot: Snapshot | undefined;
  /**
   * `fetching`: this tab waits for a response. `paused`: it does not poll; `pauseReason` says why. `idle`: it waits for the
   * next poll, or there is nothing to poll.
   */
  readonly fetchStatus: "fetching" | "paused" | "idle";
  /**
   * Reason of the pause: the page is hidden or offline; undefined without a pause. A page is offline if its browser
   * reports no network and its last poll reached no server. It tries again once a minute, and when the page becomes visible.
   */
  readonly pauseReason: Absence | undefined;
  /** Time of the next poll, by any tab; Unix milliseconds. */
  readonly nextPollAt: number | undefined;
  /** Error of the last poll, which will be repeated; undefined after a success. */
  readonly failureReason: Error | undefined;
  /** Error that ended the polling. */
  readonly error: Error | undefined;
}

/** State before the first poll. */
export const unwatched: WatchState<never> = {
  snapshot: undefined,
  fetchStatus: "idle",
  pauseReason: undefined,
  nextPollAt: undefined,
  failureReason: undefined,
  error: undefined,
};

/** A poller that runs while it has subscribers. One tab of the origin polls for all tabs. */
export interface Watch<Snapshot> extends Store<WatchState<Snapshot>> {
  /** Polls now, even after an error. */
  readonly refetch: () => void;
  /** Adds a snapshot that another tab has stored. */
  readonly addSnapshot: (snapshot: Snapshot) => void;
}

/** Options of {@link getSharedWatch}. */
export interface WatchPlan<Task extends Snapshot, Handle extends TaskHandle> {
  readonly kind: TaskKind<Task, Task, Handle>;
  readonly client: Client;
  /** Returns the handle with all known fields. */
  readonly getHandle: () => Handle;
  /** Returns the settings of the last caller. */
  readonly readSettings: () => WatchSettings<Task>;
  /** Visibility and connection of the page. @default the page's own */
  readonly presence: Presence | undefined;
  /** State before the first poll. */
  readonly known: Pick<WatchState<Task>, "snapshot" | "error">;
  /** Watches in use. @default the watches of the client */
  readonly inUse?: WatchesInUse<Task>;
  /** Renews expired links of a final snapshot. @default never */
  readonly renewal?: {
    /** Returns the time to renew the links, in Unix milliseconds; infinity for links that can't be renewed. */
    readonly getDueAt: (snapshot: Task) => number;
    readonly renew: (snapshot: Task) => Promise<Task>;
  };
  readonly onChange?: (state: WatchState<Task>) => void;
}

/** Settings of a watch, read at each use. */
export interface WatchSettings<Task> {
  readonly intervalMs?: Interval<Task> | undefined;
  readonly pollInBackground?: boolean | undefined;
}

/** The watches in use by id, each with the settings of its last caller. */
export type WatchesInUse<Task> = Map<
  string,
  { readonly watch: Watch<Task>; readSettings: () => WatchSettings<Task> }
>;

/* Names for parts of the core's types. */

/** Step of a poll loop: a poll, or the wait for the next one. */
export type PollEvent = Parameters<NonNullable<WatchOptions<unknown>["onPoll"]>>[0];

/** Milliseconds from a response to the next poll, or a function of the last snapshot. */
export type Interval<Task> = NonNullable<WatchOptions<Task>["intervalMs"]>;

/** Latest state of a task. */
export type Snapshot = Parameters<TaskKind["isFinal"]>[0];

/** Reference to a task, as plain JSON. */
export type TaskHandle = ReturnType<TaskKind["toHandle"]>;
