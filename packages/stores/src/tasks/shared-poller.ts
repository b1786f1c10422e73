import type { Client, Clock } from "@sluice/core";
import { callAfter, createStore, toError } from "@sluice/core/extend";
import { reportLimit } from "../base/platform-limits.js";
import { addUserPrefix } from "../base/user-prefix.js";
import { openTabChannel, type TabChannel } from "../tabs/channel.js";
import { withLock } from "../tabs/locks.js";
import { spaceInterval, startInTurn } from "./pace.js";
import { type Absence, createPagePresence } from "./page-presence.js";
import {
  type PollEvent,
  type Snapshot,
  type TaskHandle,
  unwatched,
  type Watch,
  type WatchesInUse,
  type WatchPlan,
  type WatchSettings,
  type WatchState,
} from "./watch-plan.js";

/** Messages between tabs: an update, a request for one (`hello`), or a request to poll now (`poll`). */
type Message<Task> =
  | {
      readonly type: "update";
      readonly snapshot: Task | undefined;
      readonly nextPollAt: number | undefined;
    }
  | { readonly type: "hello" | "poll" };

/**
 * Time that a watch continues without subscribers, for StrictMode and remounts, in milliseconds. The leader holds the lock
 * for the same time after the final snapshot.
 */
const LINGER_MS = 1000;
/** Time after which an offline page tries again, in milliseconds, because the browser may be wrong. */
const OFFLINE_RETRY_MS = 60_000;

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

/** The watches of each client, by the kind of task. */
const watches = new WeakMap<Client, Map<unknown, WatchesInUse<never>>>();

/**
 * Returns the watch of a task, in use or new. A watch without subscribers is dropped, so call this again before each use.
 */
export function getSharedWatch<Task extends Snapshot, Handle extends TaskHandle>(
  plan: WatchPlan<Task, Handle>,
): Watch<Task> {
  const { kind, client, getHandle, readSettings, inUse = getWatches(client, kind) } = plan;
  const { id } = getHandle();
  const found = inUse.get(id);
  if (found) {
    found.readSettings = readSettings;
    return found.watch;
  }
  const readLast = (): WatchSettings<Task> => shared.readSettings();
  const onUse = (isUsed: boolean) => void (isUsed ? inUse.set(id, shared) : inUse.delete(id));
  const watch: Watch<Task> = createWatch({ ...plan, readSettings: readLast }, onUse);
  const shared = { watch, readSettings };
  return watch;
}

function getWatches<Task>(client: Client, kind: object): WatchesInUse<Task> {
  const known = watches.get(client) ?? new Map<unknown, WatchesInUse<never>>();
  watches.set(client, known);
  const ofKind = known.get(kind) ?? new Map();
  known.set(kind, ofKind);
  return ofKind as WatchesInUse<Task>;
}

/**
 * Creates a watch. It does not poll before the first subscriber.
 *
 * @param onUse called with true before the first subscriber is added, and with false some time after the last unsubscribes
 */
function createWatch<Task extends Snapshot, Handle extends TaskHandle>(
  plan: WatchPlan<Task, Handle>,
  onUse: (isUsed: boolean) => void,
): Watch<Task> {
  const { kind, client, getHandle, readSettings, renewal } = plan;
  const { clock } = client;
  /** Name of the lock and the channel, the same in all tabs. */
  const name = addUserPrefix(client, `sluice/${kind.name}/${client.baseURL}/${getHandle().id}`);
  let phase: Phase = "idle";
  /** Aborted when the phase ends. `following` and `leading` share one controller. */
  let ending = new AbortController();
  let state: WatchState<Task> = { ...unwatched, ...plan.known };
  /** Connections to other tabs and the page, from the first subscriber until {@link LINGER_MS} after the last. */
  let links: { readonly channel: TabChannel<Message<Task>>; readonly stopPresence: () => void } | undefined;
  /** True if the last poll reached no server. Every change of the page's presence resets it. */
  let isOffline = false;
  const { presence = createPagePresence(() => isOffline) } = plan;
  const store = createStore(() => state, { clock, onUse: createLingeringUse(clock, open, close) });

  /** Begins each phase. `leading` is missing, because it continues `following`. `signal` aborts at the phase's end. */
  const beginPhase: Record<Exclude<Phase, "leading">, (signal: AbortSignal) => void> = {
    idle() {},
    settled(signal) {
      callAfter(clock, state.error ? Number.POSITIVE_INFINITY : getDueMs(state.snapshot), signal, tryAgain);
      setState(notPolling);
    },
    paused(signal) {
      if (isOffline) callAfter(clock, OFFLINE_RETRY_MS, signal, tryAgain);
      setState({ fetchStatus: "paused", pauseReason: findPauseReason(), nextPollAt: undefined });
    },
    following(signal) {
      setState({ fetchStatus: "idle", pauseReason: undefined });
      void waitAndLead(signal);
    },
  };

  return { getSnapshot: store.getSnapshot, subscribe: store.subscribe, refetch, addSnapshot };

  function refetch(): void {
    if (phase === "following") return links?.channel.post({ type: "poll" });
    transition("idle");
    setState({ error: undefined });
    tryAgain();
  }

  function addSnapshot(snapshot: Task): void {
    const before = state.snapshot;
    mergeSnapshot(snapshot, {});
    if (state.snapshot !== before) updatePhase();
  }

  function open(): void {
    onUse(true);
    const onRefusal = (error: unknown) => reportLimit(client, "broadcast-channel", error);
    const channel = openTabChannel(name, receive, onRefusal);
    links = { channel, stopPresence: presence.subscribe(tryAgain) };
    channel.post({ type: "hello" });
    tryAgain();
  }

  function close(): void {
    links?.stopPresence();
    links?.channel.close();
    links = undefined;
    transition("idle");
    onUse(false);
    setState(notPolling);
  }

  function tryAgain(): void {
    isOffline = false;
    updatePhase();
  }

  /** Switches to the phase that the state and the page require. */
  function updatePhase(): void {
    const isSettled = state.error !== undefined || isFinal(state.snapshot);
    const next = !links ? "idle" : isSettled ? "settled" : findPauseReason() ? "paused" : "following";
    const isUnchanged = next === "following" && (phase === "following" || phase === "leading");
    if (!isUnchanged) transition(next);
  }

  function findPauseReason(): Absence | undefined {
    const { absence } = presence;
    return absence === "hidden" && readSettings().pollInBackground ? undefined : absence;
  }

  /** Ends the current phase and begins the next one. */
  function transition(next: Phase): void {
    phase = next;
    // the lock was requested with the signal of `following`
    if (next === "leading") return;
    ending.abort();
    ending = new AbortController();
    beginPhase[next](ending.signal);
  }

  async function waitAndLead(signal: AbortSignal): Promise<void> {
    let error: Error | undefined;
    try {
      await withLock(client, name, signal, async () => {
        signal.throwIfAborted();
        transition("leading");
        await pollAsLeader(
          clock,
          signal,
          () => pollTask(signal, state.snapshot),
          (snapshot) => {
            mergeSnapshot(snapshot, { fetchStatus: "idle", failureReason: undefined });
            postUpdate();
          },
        );
      });
    } catch (cause) {
      if (signal.aborted) return;
      error = toError(cause);
    }
    transition("idle");
    setState({ ...notPolling, failureReason: undefined, error });
    updatePhase();
  }

  /** Polls at once, then repeatedly. Ends after a final snapshot. Throws if another poll cannot succeed. */
  async function* pollTask(signal: AbortSignal, seen: Task | undefined): AsyncGenerator<Task, void> {
    if (renewal && seen && needsRenewal(seen)) return yield await renewal.renew(seen);
    const intervalMs = (task: Task | undefined) => {
      const interval = readSettings().intervalMs ?? kind.intervalMs;
      return spaceInterval(clock, typeof interval === "function" ? interval(task) : interval);
    };
    const options = { onPoll, signal, seenBefore: seen !== undefined, intervalMs };
    // a link may have expired before the page saw the end of the task
    for await (const next of kind.watch(client, getHandle(), options))
      yield renewal && needsRenewal(next) ? await renewal.renew(next) : next;
  }

  /** Returns the time until the links of a final snapshot must be renewed, in milliseconds. */
  function getDueMs(snapshot: Task | undefined): number {
    return snapshot && renewal ? renewal.getDueAt(snapshot) - Date.now() : Number.POSITIVE_INFINITY;
  }

  /** Returns true for a final snapshot whose links must be renewed. */
  function needsRenewal(snapshot: Task): boolean {
    return kind.isFinal(snapshot) && getDueMs(snapshot) <= 0;
  }

  /** Returns true if the snapshot needs no more polls. */
  function isFinal(snapshot: Task | undefined): boolean {
    return snapshot !== undefined && kind.isFinal(snapshot) && !needsRenewal(snapshot);
  }

  function onPoll(event: PollEvent): void {
    if (event.type === "poll") return setState({ fetchStatus: "fetching", nextPollAt: undefined });
    setState({ fetchStatus: "idle", nextPollAt: Date.now() + event.ms, failureReason: event.failure });
    postUpdate();
    isOffline = event.failure?.name === "ConnectionError";
    updatePhase();
  }

  function receive(message: Message<Task>): void {
    if (message.type === "update") {
      const { snapshot, nextPollAt } = message;
      if (snapshot !== undefined) mergeSnapshot(snapshot, { nextPollAt });
      updatePhase();
    } else if (phase === "leading") {
      if (message.type === "hello") postUpdate();
      if (message.type === "poll") refetch();
    }
  }

  function postUpdate(): void {
    links?.channel.post({ type: "update", snapshot: state.snapshot, nextPollAt: state.nextPollAt });
  }

  function mergeSnapshot(newest: Task, changes: Partial<WatchState<Task>>): void {
    const snapshot = kind.merge(state.snapshot, newest);
    // a final snapshot of another tab replaces an error of this tab's polls
    const noError = isFinal(snapshot) && { error: undefined, failureReason: undefined };
    setState({ ...changes, snapshot, ...noError });
  }

  function setState(changes: Partial<WatchState<Task>>): void {
    const names = Object.keys(changes) as (keyof WatchState<Task>)[];
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
async function pollAsLeader<Task>(
  clock: Clock,
  signal: AbortSignal,
  snapshots: () => AsyncIterable<Task>,
  onSnapshot: (snapshot: Task) => void,
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
  // holds the lock until the other tabs have the final snapshot, because the next leader would poll again
  await clock.sleep(LINGER_MS, signal);
}

const notPolling = { fetchStatus: "idle", pauseReason: undefined, nextPollAt: undefined } as const;
