import type { StorageStatus } from "@sluice/core";
import type { ChatMessage, ChatTurn } from "./message.js";

/** The records of a thread in a storage: reads, writes, and merges the writes of other tabs. */
export interface ThreadRecords {
  /**
   * Reads the thread, then merges the changes of other tabs. Can be called again after `close`.
   *
   * @throws the storage's error if it fails twice. The thread is then read after the next successful write
   */
  restore(): Promise<void>;
  /** Notes a changed message. The message is written soon; the function does not wait. */
  noteChange(id: string, message?: ChatMessage): void;
  /** Holds the lock of a message that this tab works on, until the turn has ended and is stored. */
  holdLock(id: string, turn: Promise<unknown>): void;
  /**
   * Waits until no other tab works on a message, merges its changes, and runs `act`. Holds the lock until the turn has
   * ended and is stored. Without Web Locks `act` runs at once.
   *
   * @throws the signal's reason while it waits
   */
  runLocked<Turn>(id: string, signal: AbortSignal, act: () => Promise<Turn>): Promise<Turn>;
  /** Writes all pending changes; resolves when the storage has them, or has failed. */
  writeAll(): Promise<unknown>;
  /**
   * Derives the `idempotency-key` of a response below a message. Its inputs are the same in all tabs and devices: the
   * question or request above it, the number of existing responses, and the request itself. Two devices that send the
   * same request therefore get one response. A chat never reuses a derived key for a second response, even if the app
   * has removed the first one.
   */
  deriveKey(below: string | undefined, request: unknown): string;
  /** Allows another use of a key whose request was not sent. */
  forgetKey(key: string | undefined): void;
  /** True after the first successful read. */
  readonly isRead: boolean;
  /** Counts the messages that could not be written so far. */
  countUnsaved(): number;
  /** Writes all pending changes and closes the storage. Failed writes are retried even after the close. */
  close(): void;
}

/** The storage of a chat. The first use opens it, and the first use after `close` opens it again. */
export interface StorageSession {
  /** True from the first use until `close`. */
  readonly isOpen: boolean;
  /** True once the thread was read or its storage given up, after at most 3 s. Records that arrive later are merged. */
  readonly isRestored: boolean;
  /** How much of the chat is stored; undefined without a storage. The same object until it changes. */
  readonly status: StorageStatus | undefined;
  /** True if other devices can read what the storage has. */
  readonly hasServer: boolean;
  /** Records of the thread; undefined before the storage is open, and without a storage. */
  readonly records: ThreadRecords | undefined;
  /** Runs `act` when the chat is restored; in the same tick if possible, so that the next frame shows a click. */
  whenRestored<T>(act: () => T | Promise<T>): Promise<T>;
  /** Runs `act` when the chat is restored, unless the chat is stopped before. */
  whenReady(act: () => ChatTurn | Promise<ChatTurn>): Promise<ChatTurn>;
  /** Runs `act` when no other tab works on the message, unless the chat is stopped before. */
  runLocked(messageId: string, act: () => ChatTurn | Promise<ChatTurn>): Promise<ChatTurn>;
  /** Rejects the waits for the storage or another tab. */
  stop(reason: unknown): void;
  close(): void;
}

/** The session of a chat without a storage. A storage brings the code of its own. */
export const noStorage: StorageSession = {
  isOpen: false,
  isRestored: true,
  status: undefined,
  hasServer: false,
  records: undefined,
  whenRestored: (act) => Promise.resolve(act()),
  whenReady: (act) => Promise.resolve(act()),
  runLocked: (_, act) => Promise.resolve(act()),
  stop() {},
  close() {},
};
