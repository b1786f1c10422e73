import type { Client } from "@sluice/core";
import { addUserPrefix } from "../base/user-prefix.js";
import { hasLocks, isLocked, shareLock, withLock } from "../tabs/locks.js";

/** Locks for the messages of one thread. The page that works on a message holds its lock. */
export interface WorkLocks {
  /** Returns true if pages can see each other's locks. */
  areVisible(): boolean;
  /** Returns true if a page holds the lock; undefined if unknown. */
  mayBeHeld(id: string): Promise<boolean | undefined>;
  /** Holds a lock until `work` is settled. No other page can have begun this work. */
  share(id: string, work: Promise<unknown>): void;
  /**
   * Runs `act` while this page holds the lock exclusively. Waits while another page holds it.
   *
   * @throws the signal's reason while it waits, and the error of `act`
   */
  withLock(id: string, signal: AbortSignal, act: () => Promise<void>): Promise<void>;
}

/** Creates the locks of a thread that only one browser uses: Web Locks. */
export function createTabLocks(client: Client, collection: string): WorkLocks {
  const createName = (id: string) => addUserPrefix(client, `sluice/${collection}/${id}`);
  return {
    areVisible: hasLocks,
    mayBeHeld: (id) => isLocked(client, createName(id)),
    share: (id, work) => void shareLock(client, createName(id), work),
    withLock: (id, signal, act) => withLock(client, createName(id), signal, act),
  };
}
