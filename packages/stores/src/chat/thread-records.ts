import type { ChatMessage } from "./message.js";
import type { ResponseKeys } from "./response-keys.js";

/** The records of a thread in a storage: reads, writes, and merges the writes of other tabs. */
export interface ThreadRecords extends ResponseKeys {
  /**
   * Reads the thread, then merges the changes of other tabs. Can be called again after `close`.
   *
   * @throws the storage's error if it fails twice. The thread is then read after the next successful write
   */
  readonly restore: () => Promise<void>;
  /** Notes a changed message. The message is written soon; the function does not wait. */
  readonly noteChange: (id: string, message?: ChatMessage) => void;
  /** Holds the lock of a message that this tab works on, until the turn has ended and is stored. */
  readonly holdLock: (id: string, turn: Promise<unknown>) => void;
  /**
   * Waits until no other tab works on a message, merges its changes, and runs `act`. Holds the lock until the turn has
   * ended and is stored. Without Web Locks `act` runs at once.
   *
   * @throws the signal's reason while it waits
   */
  readonly runLocked: <Turn>(id: string, signal: AbortSignal, act: () => Promise<Turn>) => Promise<Turn>;
  /** Writes all pending changes; resolves when the storage has them, or has failed. */
  readonly writeAll: () => Promise<unknown>;
  /** Counts the messages that could not be written so far. */
  readonly countUnsaved: () => number;
  /** Writes all pending changes and closes the storage. Failed writes are retried even after the close. */
  readonly close: () => void;
}
