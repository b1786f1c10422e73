import type { SyncError } from "./sync-error.js";

/**
 * State of the sync in the tab that syncs.
 *
 * - `off`: another tab syncs
 * - `joining`: reads the collections in use and sends the outbox
 * - `live`: does the same after each change event of the server
 * - `waiting`: sends nothing until `retryAt`, after a temporary failure
 * - `stopped`: sends nothing until the app acts
 * - `closed`: the user has signed out; sends nothing
 */
export type SyncState =
  | { readonly name: "off" }
  | { readonly name: "joining"; readonly failures: number }
  | { readonly name: "live"; readonly failures: number }
  | {
      readonly name: "waiting";
      readonly failures: number;
      /** Time of the client's clock. */
      readonly retryAt: number;
      readonly error: SyncError;
    }
  | { readonly name: "stopped"; readonly reason: StopReason; readonly error: SyncError }
  | { readonly name: "closed" };

export type StopReason = "account" | "signed-out" | "error";

export type SyncEvent =
  /** This tab became the syncing tab. */
  | { readonly type: "started" }
  /** Everything is read and sent. */
  | { readonly type: "synced" }
  /** The stream of change events has been open for 10 s. */
  | { readonly type: "followed" }
  /** A request failed. `now` is the time, `jitter` a number from 0 to 1. */
  | { readonly type: "failed"; readonly error: SyncError; readonly now: number; readonly jitter: number }
  /** The time of the next attempt has come, or the network is back. */
  | { readonly type: "due" }
  /** The app asks for another attempt. */
  | { readonly type: "retried" }
  | { readonly type: "closed" };

/** Allowed transitions: for each state and event the possible next states. Other events change nothing. */
export const transitions: Readonly<
  Record<SyncState["name"], Partial<Record<SyncEvent["type"], readonly SyncState["name"][]>>>
> = {
  off: { started: ["joining"], closed: ["closed"] },
  joining: { synced: ["live"], failed: ["waiting", "stopped"], closed: ["closed"] },
  live: { followed: ["live"], failed: ["waiting", "stopped"], closed: ["closed"] },
  waiting: { due: ["joining"], retried: ["joining"], closed: ["closed"] },
  stopped: { retried: ["joining"], closed: ["closed"] },
  closed: {},
};

const FIRST_WAIT_MS = 1000;
const MAX_WAIT_MS = 300_000;

/** Computes the next state. Returns the same object if the event changes nothing. */
export function reduce(state: SyncState, event: SyncEvent): SyncState {
  const allowed = transitions[state.name][event.type];
  if (!allowed) return state;
  const next = decide(state, event);
  if (!allowed.includes(next.name))
    throw new Error(`no transition from ${state.name} by ${event.type} to ${next.name}`);
  return next;
}

function decide(state: SyncState, event: SyncEvent): SyncState {
  const failures = "failures" in state ? state.failures : 0;
  switch (event.type) {
    case "started":
    case "retried":
      return { name: "joining", failures: 0 };
    case "due":
      return { name: "joining", failures };
    case "synced":
      return { name: "live", failures };
    case "followed":
      return { name: "live", failures: 0 };
    case "closed":
      return { name: "closed" };
    case "failed": {
      const { error, now, jitter } = event;
      const { kind, retryAfterMs = 0 } = error;
      if (kind !== "temporary")
        return { name: "stopped", reason: kind === "request" ? "error" : kind, error };
      const ownMs = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** failures) * (0.5 + jitter / 2);
      return {
        name: "waiting",
        failures: failures + 1,
        retryAt: now + Math.max(ownMs, retryAfterMs),
        error,
      };
    }
  }
}
