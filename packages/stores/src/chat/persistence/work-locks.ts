import type { Client } from "@sluice/core";
import { addUserPrefix } from "@sluice/core/internal";
import { hasLocks, isLocked, shareLock, withLock } from "../../tabs/locks.js";

/** Locks of the messages of one thread: the page that works on a message holds its lock. */
export interface WorkLocks {
  /** Returns true if pages can see each other's locks. */
  areSeen(): boolean;
  /** Returns false where nobody holds the lock now. Where devices share the thread, it is taken to find out: true. */
  mayBeHeld(id: string): Promise<boolean | undefined>;
  /** Holds a lock until `work` is settled, for work that this page alone can have begun. */
  share(id: string, work: Promise<unknown>): void;
  /**
   * Runs `act` while this page holds the lock, alone. It waits as long as another page holds it, or until nothing is left
   * to wait for.
   *
   * @throws the signal's reason while it waits, and the error of `act`
   */
  withLock(id: string, signal: AbortSignal, act: () => Promise<void>, isOver?: () => boolean): Promise<void>;
  /**
   * Asks if another device has gone on with what this page works on, as it was cut off or frozen for long. Undefined where
   * that can't be, without a wait. Absent where the thread is of one browser: a lock lasts as long as its page there.
   */
  readonly isTaken?: (id: string, signal: AbortSignal) => Promise<boolean> | undefined;
  /** Ends what it has begun. */
  readonly close?: () => void;
}

/** Creates the locks of a thread that one browser has: Web Locks. */
export function createTabLocks(client: Client, collection: string): WorkLocks {
  const nameOf = (id: string) => addUserPrefix(client, `sluice/${collection}/${id}`);
  return {
    areSeen: hasLocks,
    mayBeHeld: (id) => isLocked(client, nameOf(id)),
    share: (id, work) => void shareLock(client, nameOf(id), work),
    withLock: (id, signal, act) => withLock(client, nameOf(id), signal, act),
  };
}
