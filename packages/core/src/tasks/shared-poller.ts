import { after } from "../base/clock.js";
import { reportLimit } from "../base/platform-limits.js";
import { createStore, type Store } from "../base/store.js";
import { openTabChannel, type TabChannel } from "../tabs/channel.js";
import { withLock } from "../tabs/locks.js";
import { type Absence, type Presence, pagePresence } from "../tabs/page-activity.js";
import type { Connection } from "../transport/send.js";
import { asError } from "../vocabulary/errors.js";
import { startInTurn } from "./pace.js";
import type { PollEvent } from "./poll.js";

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
  readonly failure: Error | undefined;
  /** The error that ended the polling. */
  readonly error: Error | undefined;
}

/** State before the first poll. */
export const unwatched: WatchState<never> = {
  snapshot: undefined,
  fetchStatus: "idle",
  pauseReason: undefined,
  nextPollAt: undefined,
  failure: undefined,
  error: undefined,
};

/** A poller that runs for as long as it has subscribers. One tab of the origin polls for all tabs. */
export interface Watch<Snapshot> extends Store<WatchState<Snapshot>> {
  /** Polls now, also after an error. */
  readonly refetch: () => void;
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

/** The watches in use by id, each with the settings of its newest caller. */
export type WatchesInUse<Snapshot, Settings> = Map<
  string,
  { readonly watch: Watch<Snapshot>; settings: () => Settings }
>;

/**
 * Returns the watch of `id`: the one in use, or a new one. A watch without subscribers is dropped, so call this again
 * before each use.
 */
export function sharedWatch<Snapshot, Settings>(
  inUse: WatchesInUse<Snapshot, Settings>,
  id: string,
  settings: () => Settings,
  planOf: (settings: () => Settings) => Omit<WatchPlan<Snapshot>, "onUse">,
): Watch<Snapshot> {
  const known = inUse.get(id);
  if (known) {
    known.settings = settings;
    return known.watch;
  }
  const plan = planOf(() => shared.settings());
  const onUse = (isUsed: boolean) => void (isUsed ? inUse.set(id, shared) : inUse.delete(id));
  const watch: Watch<Snapshot> = createWatch({ ...plan, onUse });
  const shared = { watch, settings };
  return watch;
}

/** Messages between tabs: an update, a request for one (`hello`), or a request to poll now (`poll`). */
type Message<Snapshot> =
  | {
      readonly type: "update";
      readonly snapshot: Snapshot | undefined;
      readonly nextPollAt: number | undefined;
    }
  | { readonly type: "hello" | "poll" };

/**
 * Time in milliseconds that a watch continues without subscribers, for StrictMode and remounts. The leader keeps the
 * lock for the same time after the final snapshot.
 */
const LINGER_MS = 1000;
/** Time in milliseconds after which a page that is offline tries again: the browser may be wrong. */
const AGAIN_MS = 60_000;

/** Creates a watch. It polls nothing before the first subscriber. */
export function createWatch<Snapshot>(plan: WatchPlan<Snapshot>): Watch<Snapshot> {
  const { name, client, inBackground, poll, merge, isFinal } = plan;
  const { clock } = client;
  /** True if the last poll reached no server. Every change of the page is a reason to try again. */
  let isCutOff = false;
  const { presence = pagePresence(() => isCutOff) } = plan;
  let state: WatchState<Snapshot> = { ...unwatched, ...plan.known };
  const store = createStore(() => state, { clock, onUse: open });
  let leaving: AbortController | undefined;
  let channel: TabChannel<Message<Snapshot>> | undefined;
  let stopPresence: (() => void) | undefined;
  let polling: AbortController | undefined;
  /** The poll loop that holds the lock, or held it last. */
  let leading: AbortController | undefined;
  /** The wait for the time at which a final snapshot is to be polled again. */
  let waking = new AbortController();

  return {
    getSnapshot: store.getSnapshot,
    subscribe: store.subscribe,
    refetch,
  };

  function refetch(): void {
    if (polling && !isLeader()) return channel?.post({ type: "poll" });
    stopPolling();
    set({ error: undefined });
    tryAgain();
  }

  function open(): () => void {
    leaving?.abort();
    if (channel) return leave;
    plan.onUse(true);
    channel = openTabChannel(name, receive, (error) => reportLimit(client, "broadcast-channel", error));
    channel.post({ type: "hello" });
    stopPresence = presence.subscribe(tryAgain);
    tryAgain();
    return leave;
  }

  function leave(): void {
    leaving = new AbortController();
    after(clock, LINGER_MS, leaving.signal, close);
  }

  function close(): void {
    stopPresence?.();
    waking.abort();
    channel?.close();
    channel = undefined;
    stopPolling();
    plan.onUse(false);
    set({ fetchStatus: "idle", pauseReason: undefined, nextPollAt: undefined });
  }

  function tryAgain(): void {
    isCutOff = false;
    reconsider();
  }

  /** Starts or stops polling, as the state requires. */
  function reconsider(): void {
    const { absence } = presence;
    const pauseReason = absence === "hidden" && inBackground() ? undefined : absence;
    const isOver = state.error !== undefined || (state.snapshot !== undefined && isFinal(state.snapshot));
    waking.abort();
    if (isOver || !channel) {
      stopPolling();
      return wakeLater();
    }
    if (pauseReason) {
      stopPolling();
      if (isCutOff) wakeIn(AGAIN_MS);
      return set({ fetchStatus: "paused", pauseReason, nextPollAt: undefined });
    }
    if (polling) return;
    set({ fetchStatus: "idle", pauseReason: undefined });
    void startPolling();
  }

  function wakeLater(): void {
    const { snapshot, error } = state;
    if (!channel || error || snapshot === undefined || !plan.dueAt) return;
    wakeIn(plan.dueAt(snapshot) - Date.now());
  }

  function wakeIn(ms: number): void {
    waking = new AbortController();
    after(clock, ms, waking.signal, tryAgain);
  }

  function stopPolling(): void {
    polling?.abort();
    polling = undefined;
  }

  function isLeader(): boolean {
    return polling !== undefined && polling === leading;
  }

  async function startPolling(): Promise<void> {
    const controller = new AbortController();
    const { signal } = controller;
    polling = controller;
    let error: Error | undefined;
    try {
      await withLock(client, name, signal, async () => {
        leading = controller;
        const end = await startInTurn(clock, signal);
        try {
          for await (const snapshot of poll(onPoll, signal, state.snapshot)) {
            signal.throwIfAborted();
            adopt(snapshot, { fetchStatus: "idle", failure: undefined });
            postUpdate();
          }
        } finally {
          end();
        }
        // sent before the lock is released: the next leader then has nothing left to poll
        await clock.sleep(LINGER_MS, signal);
      });
    } catch (cause) {
      if (signal.aborted) return;
      error = asError(cause);
    }
    set({ fetchStatus: "idle", nextPollAt: undefined, failure: undefined, error });
    polling = undefined;
    reconsider();
  }

  function onPoll(event: PollEvent): void {
    if (event.type === "poll") return set({ fetchStatus: "fetching", nextPollAt: undefined });
    set({ fetchStatus: "idle", nextPollAt: Date.now() + event.ms, failure: event.failure });
    postUpdate();
    isCutOff = event.failure?.name === "ConnectionError";
    reconsider();
  }

  function receive(message: Message<Snapshot>): void {
    if (message.type === "update") {
      const { snapshot, nextPollAt } = message;
      if (snapshot !== undefined) adopt(snapshot, { nextPollAt });
      return reconsider();
    }
    if (!isLeader()) return;
    if (message.type === "hello") return postUpdate();
    if (message.type === "poll") refetch();
  }

  function postUpdate(): void {
    channel?.post({ type: "update", snapshot: state.snapshot, nextPollAt: state.nextPollAt });
  }

  function adopt(snapshot: Snapshot, more: Partial<WatchState<Snapshot>>): void {
    set({ ...more, snapshot: merge(state.snapshot, snapshot) });
  }

  function set(changes: Partial<WatchState<Snapshot>>): void {
    const names = Object.keys(changes) as (keyof WatchState<Snapshot>)[];
    if (names.every((key) => Object.is(state[key], changes[key]))) return;
    state = { ...state, ...changes };
    plan.onChange?.(state);
    store.flush();
  }
}
