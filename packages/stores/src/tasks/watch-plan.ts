import type { Presence, Store } from "@sluice/core";
import type { Absence, Connection, Interval, PollEvent } from "@sluice/core/internal";

/** State of a polled task or asset. */
export interface WatchState<Snapshot> {
  /** The newest answer; the same object until an answer differs. */
  readonly snapshot: Snapshot | undefined;
  /**
   * `fetching`: this tab waits for an answer. `paused`: it does not poll; `pauseReason` says why. `idle`: it
   * waits for the next poll, or there is nothing to poll.
   */
  readonly fetchStatus: "fetching" | "paused" | "idle";
  /**
   * Reason of the pause: the page is hidden or offline; undefined while nothing pauses. A page is offline if its browser
   * has no network and its last poll reached no server. It tries again once a minute, and when it is shown again.
   */
  readonly pauseReason: Absence | undefined;
  /** Time of the next poll, by any tab; Unix milliseconds. */
  readonly nextPollAt: number | undefined;
  /** Error of the last poll, which will be repeated; undefined where the poll succeeded. */
  readonly failureReason: Error | undefined;
  /** The error that ended the polling. */
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

/** A poller that runs for as long as it has subscribers. One tab of the origin polls for all tabs. */
export interface Watch<Snapshot> extends Store<WatchState<Snapshot>> {
  /** Polls now, also after an error. */
  readonly refetch: () => void;
  /** Takes an answer that another tab has stored. */
  readonly take: (snapshot: Snapshot) => void;
}

/** Options of {@link createWatch}. */
export interface WatchPlan<Snapshot> {
  /** Name of the lock and the channel, the same in all tabs. */
  readonly name: string;
  readonly client: Connection;
  /** Visibility and connection of the page. @default the page's own */
  readonly presence: Presence | undefined;
  /** State that is known before the first poll. */
  readonly known: Pick<WatchState<Snapshot>, "snapshot" | "error">;
  /** Returns true to poll while the page is hidden, too. */
  readonly inBackground: () => boolean;
  /** Polls at once, then repeatedly. Ends after a final snapshot. Throws where another poll cannot help. */
  readonly poll: (
    onPoll: (event: PollEvent) => void,
    signal: AbortSignal,
    seen: Snapshot | undefined,
  ) => AsyncIterable<Snapshot>;
  /** Merges two snapshots. Returns the older object if both are equal. */
  readonly merge: (older: Snapshot | undefined, newer: Snapshot) => Snapshot;
  /** Returns true if nothing is left to poll. */
  readonly isFinal: (snapshot: Snapshot) => boolean;
  /** Returns the time at which a final snapshot is no longer final; Unix milliseconds, or infinity. @default never */
  readonly dueAt?: (snapshot: Snapshot) => number;
  readonly onChange?: (state: WatchState<Snapshot>) => void;
  /** Called with true before the first subscriber is added, and with false some time after the last has left. */
  readonly onUse: (isUsed: boolean) => void;
}

/** Settings of a watch, read at each use. */
export interface WatchSettings<Task> {
  readonly intervalMs?: Interval<Task> | undefined;
  readonly pollInBackground?: boolean | undefined;
}

/** The watches in use by id, each with the settings of its newest caller. */
export type WatchesInUse<Task> = Map<
  string,
  { readonly watch: Watch<Task>; settings: () => WatchSettings<Task> }
>;
