import type { SyncError } from "./sync-error.js";

/**
 * State of the sync in one tab. Only one tab of a user syncs at a time.
 *
 * - `off`: another tab syncs
 * - `joining`: reads the collections in use and sends the outbox
 * - `live`: reads what changed after each change event of the server, and sends the outbox
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
  | { readonly name: "stopped"; readonly error: SyncError }
  | { readonly name: "closed" };

export type SyncEvent =
  /** This tab became the syncing tab. */
  | { readonly type: "started" }
  /** Everything is read and sent. */
  | { readonly type: "synced" }
  /** The stream of change events has been open for 10 s. A server that accepts a stream and then fails stays a failure. */
  | { readonly type: "stable" }
  /** A request failed. `now` is the time, `jitter` a number from 0 to 1. */
  | { readonly type: "failed"; readonly error: SyncError; readonly now: number; readonly jitter: number }
  /** The time of the next attempt has come, or the network is back. */
  | { readonly type: "due" }
  /** The app asks for another attempt. */
  | { readonly type: "retried" }
  | { readonly type: "closed" };

const FIRST_WAIT_MS = 1000;
const MAX_WAIT_MS = 300_000;

/** Computes the next state. Returns the same object if the event changes nothing. */
export function reduce(state: SyncState, event: SyncEvent): SyncState {
  const { name } = state;
  const failures = "failures" in state ? state.failures : 0;
  if (name === "closed") return state;
  switch (event.type) {
    case "closed":
      return { name: "closed" };
    case "started":
      return name === "off" ? { name: "joining", failures: 0 } : state;
    case "retried":
      return name === "waiting" || name === "stopped" ? { name: "joining", failures: 0 } : state;
    case "due":
      return name === "waiting" ? { name: "joining", failures } : state;
    case "synced":
      return name === "joining" ? { name: "live", failures } : state;
    case "stable":
      return name === "live" ? { name: "live", failures: 0 } : state;
    case "failed": {
      if (name !== "joining" && name !== "live") return state;
      const { error, now, jitter } = event;
      const { kind, retryAfterMs = 0 } = error;
      if (kind !== "temporary") return { name: "stopped", error };
      const backoffMs = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** failures) * (0.5 + jitter / 2);
      const retryAt = now + Math.max(backoffMs, retryAfterMs);
      return { name: "waiting", failures: failures + 1, retryAt, error };
    }
  }
}
