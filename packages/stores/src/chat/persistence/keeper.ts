import type { SyncStatus } from "@sluice/core/internal";
import type { ChatMessage } from "../message.js";
import type { AnswerKeys } from "./answer-keys.js";

/** Keeps a thread in a storage, and merges the writes of other tabs. */
export interface ThreadKeeper extends AnswerKeys {
  /**
   * Reads the thread, then merges the changes of other tabs. Can be called again after `close`.
   *
   * @throws the storage's error, if it fails twice. A later write reads the thread as soon as it can be read
   */
  readonly restore: () => Promise<void>;
  /** Reports a changed message. It is written soon, and nothing waits for the write. */
  readonly changed: (id: string, message?: ChatMessage) => void;
  /** Holds the lock of a message that this tab works on, until the turn has ended and is written. */
  readonly hold: (id: string, turn: Promise<unknown>) => void;
  /**
   * Waits until no other tab works on a message, merges what it wrote, and runs `act`. The lock is held until the turn
   * has ended and is written. Without Web Locks `act` runs at once.
   *
   * @throws the signal's reason while it waits
   */
  readonly withLockOf: <Turn>(id: string, signal: AbortSignal, act: () => Promise<Turn>) => Promise<Turn>;
  /**
   * Asks if another device has gone on with what this page works on: a message, or a queued one by its key. Undefined where
   * that can't be, without a wait.
   */
  readonly isTaken: (id: string, signal: AbortSignal) => Promise<boolean> | undefined;
  /** Ends the work of another device on a message, where devices share the thread. */
  readonly stopElsewhere?: (id: string) => void;
  /** State of the records at the server; undefined where the storage is this browser's alone. */
  readonly sync: () => SyncStatus | undefined;
  /** Writes all pending changes; resolves when the storage has them, or has failed. */
  readonly written: () => Promise<unknown>;
  /** Number of messages that could not be written, and still are not. */
  readonly unsaved: () => number;
  /** Writes all pending changes, and closes the storage. What can't be written is tried again all the same. */
  readonly close: () => void;
}
