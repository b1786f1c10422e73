import type { Clock } from "@sluice/core";
import { callAfter, createPagePresence, createStore, toError } from "@sluice/core/extend";
import { reportLimit } from "../base/platform-limits.js";
import { openTabChannel, type TabChannel } from "../tabs/channel.js";
import { withLock } from "../tabs/locks.js";
import { startInTurn } from "./pace.js";
import {
  type Absence,
  type PollEvent,
  unwatched,
  type Watch,
  type WatchPlan,
  type WatchState,
} from "./watch-plan.js";

/** Messages between tabs: an update, a request for one (`hello`), or a request to poll now (`poll`). */
type Message<Snapshot> =
  | {
      readonly type: "update";
      readonly snapshot: Snapshot | undefined;
      readonly nextPollAt: number | undefined;
    }
  | { readonly type: "hello" | "poll" };

/**
 * Time that a watch continues without subscribers, for StrictMode and remounts, in milliseconds. The leader holds the lock
 * for the same time after the final snapshot.
 */
const LINGER_MS = 1000;
/** Time after which an offline page tries again, in milliseconds, because the browser may be wrong. */
const AGAIN_MS = 60_000;

/**
 * Phase of a watch.
 *
 * - `idle`: it has not begun, or lacks subscribers
 * - `paused`: the page is hidden or offline
 * - `following`: it waits for the lock of the tab that polls
 * - `leading`: it holds the lock and polls for all tabs
 * - `settled`: there is nothing to poll
 */
type Phase = "idle" | "paused" | "following" | "leading" | "settled";

/** Creates a watch. It does not poll before the first subscriber. */
export function createWatch<Snapshot>(plan: WatchPlan<Snapshot>): Watch<Snapshot> {
  const { client, merge, isFinal } = plan;
  const { clock } = client;
  let phase: Phase = "idle";
  /** Aborted when the phase ends. `following` and `leading` share one controller. */
  let ending = new AbortController();
  let state: WatchState<Snapshot> = { ...unwatched, ...plan.known };
  /** Open connections, from the first subscriber until {@link LINGER_MS} after the last. */
  let use: { readonly channel: TabChannel<Message<Snapshot>>; readonly stopPresence: () => void } | undefined;
  /** True if the last poll reached no server. Every change of the page's presence resets it. */
  let isOffline = false;
  const { presence = createPagePresence(() => isOffline) } = plan;
  const store = createStore(() => state, { clock, onUse: createLingeringUse(clock, open, close) });

  /** Functions that begin a phase. `leading` has none, because it continues `following`. `signal` aborts at the end. */
  const begin: Record<Exclude<Phase, "leading">, (signal: AbortSignal) => void> = {
    idle() {},
    settled(signal) {
      callAfter(clock, getDueMs(plan, state), signal, tryAgain);
      set(resting);
    },
    paused(signal) {
      if (isOffline) callAfter(clock, AGAIN_MS, signal, tryAgain);
      set({ fetchStatus: "paused", pauseReason: findPauseReason(), nextPollAt: undefined });
    },
    following(signal) {
      set({ fetchStatus: "idle", pauseReason: undefined });
      void follow(signal);
    },
  };

  return { getSnapshot: store.getSnapshot, subscribe: store.subscribe, refetch, take };

  function refetch(): void {
    if (phase === "following") return use?.channel.post({ type: "poll" });
    transition("idle");
    set({ error: undefined });
    tryAgain();
  }

  function take(snapshot: Snapshot): void {
    const before = state.snapshot;
    adopt(snapshot, {});
    if (state.snapshot !== before) updatePhase();
  }

  function open(): void {
    plan.onUse(true);
    const onRefusal = (error: unknown) => reportLimit(client, "broadcast-channel", error);
    const channel = openTabChannel(plan.name, receive, onRefusal);
    use = { channel, stopPresence: presence.subscribe(tryAgain) };
    channel.post({ type: "hello" });
    tryAgain();
  }

  function close(): void {
    use?.stopPresence();
    use?.channel.close();
    use = undefined;
    transition("idle");
    plan.onUse(false);
    set(resting);
  }

  function tryAgain(): void {
    isOffline = false;
    updatePhase();
  }

  /** Switches to the phase that the state and the page require. */
  function updatePhase(): void {
    const isSettled = hasSettled(plan, state);
    const next = !use ? "idle" : isSettled ? "settled" : findPauseReason() ? "paused" : "following";
    const isUnchanged = next === "following" && (phase === "following" || phase === "leading");
    if (!isUnchanged) transition(next);
  }

  function findPauseReason(): Absence | undefined {
    const { absence } = presence;
    return absence === "hidden" && plan.pollsInBackground() ? undefined : absence;
  }

  /** Ends the current phase and begins the next one. */
  function transition(next: Phase): void {
    phase = next;
    // the lock was requested with the signal of `following`
    if (next === "leading") return;
    ending.abort();
    ending = new AbortController();
    begin[next](ending.signal);
  }

  async function follow(signal: AbortSignal): Promise<void> {
    let error: Error | undefined;
    try {
      await withLock(client, plan.name, signal, async () => {
        signal.throwIfAborted();
        transition("leading");
        const snapshots = () => plan.poll(onPoll, signal, state.snapshot);
        await lead(clock, signal, snapshots, (snapshot) => {
          adopt(snapshot, { fetchStatus: "idle", failureReason: undefined });
          postUpdate();
        });
      });
    } catch (cause) {
      if (signal.aborted) return;
      error = toError(cause);
    }
    transition("idle");
    set({ ...resting, failureReason: undefined, error });
    updatePhase();
  }

  function onPoll(event: PollEvent): void {
    if (event.type === "poll") return set({ fetchStatus: "fetching", nextPollAt: undefined });
    set({ fetchStatus: "idle", nextPollAt: Date.now() + event.ms, failureReason: event.failure });
    postUpdate();
    isOffline = event.failure?.name === "ConnectionError";
    updatePhase();
  }

  function receive(message: Message<Snapshot>): void {
    if (message.type === "update") {
      const { snapshot, nextPollAt } = message;
      if (snapshot !== undefined) adopt(snapshot, { nextPollAt });
      updatePhase();
    } else if (phase === "leading") {
      if (message.type === "hello") postUpdate();
      if (message.type === "poll") refetch();
    }
  }

  function postUpdate(): void {
    use?.channel.post({ type: "update", snapshot: state.snapshot, nextPollAt: state.nextPollAt });
  }

  function adopt(newest: Snapshot, changes: Partial<WatchState<Snapshot>>): void {
    const snapshot = merge(state.snapshot, newest);
    // a final snapshot of another tab replaces an error of this tab's polls
    set({ ...changes, snapshot, ...(isFinal(snapshot) && { error: undefined, failureReason: undefined }) });
  }

  function set(changes: Partial<WatchState<Snapshot>>): void {
    const names = Object.keys(changes) as (keyof WatchState<Snapshot>)[];
    if (names.every((key) => Object.is(state[key], changes[key]))) return;
    state = { ...state, ...changes };
    plan.onChange?.(state);
    store.flush();
  }
}

/** Creates an `onUse` that opens at the first use, and closes {@link LINGER_MS} after the last. */
function createLingeringUse(clock: Clock, open: () => void, close: () => void): () => () => void {
  let isOpen = false;
  let closing = new AbortController();
  return () => {
    closing.abort();
    if (!isOpen) {
      isOpen = true;
      open();
    }
    return () => {
      closing = new AbortController();
      callAfter(clock, LINGER_MS, closing.signal, () => {
        isOpen = false;
        close();
      });
    };
  };
}

/** Polls at the pace of the page until a snapshot is final and all tabs have it. */
async function lead<Snapshot>(
  clock: Clock,
  signal: AbortSignal,
  snapshots: () => AsyncIterable<Snapshot>,
  onSnapshot: (snapshot: Snapshot) => void,
): Promise<void> {
  const end = await startInTurn(clock, signal);
  try {
    for await (const snapshot of snapshots()) {
      signal.throwIfAborted();
      onSnapshot(snapshot);
    }
  } finally {
    end();
  }
  // holds the lock until the other tabs have the final snapshot, so that no next leader polls
  await clock.sleep(LINGER_MS, signal);
}

/** Returns true if there is nothing to poll. */
function hasSettled<Snapshot>(
  { isFinal }: WatchPlan<Snapshot>,
  { snapshot, error }: WatchState<Snapshot>,
): boolean {
  return error !== undefined || (snapshot !== undefined && isFinal(snapshot));
}

/** Returns the time until a final snapshot must be polled again, in milliseconds. */
function getDueMs<Snapshot>(
  { getDueAt }: WatchPlan<Snapshot>,
  { snapshot, error }: WatchState<Snapshot>,
): number {
  if (error || snapshot === undefined || !getDueAt) return Number.POSITIVE_INFINITY;
  return getDueAt(snapshot) - Date.now();
}

/** Fields of a watch that does not poll. */
const resting = { fetchStatus: "idle", pauseReason: undefined, nextPollAt: undefined } as const;
