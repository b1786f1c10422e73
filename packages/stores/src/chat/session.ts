import type { Client, RecordStorage, StorageStatus } from "@sluice/core";
import { createRandomId } from "@sluice/core/extend";
import type { ChatMessage, ChatTurn } from "./message.js";
import type { Thread } from "./thread.js";

/**
 * The storage of a chat: reads its thread, writes the changes, and merges the changes of other tabs. The first use opens
 * it, and the first use after `close` opens it again.
 */
export interface StorageSession {
  /** True from the first use until `close`. */
  readonly isOpen: boolean;
  /** How much of the chat is stored; undefined without a storage. The same object until it changes. */
  readonly status: StorageStatus | undefined;
  /** True if other devices can read what the storage has. */
  readonly hasServer: boolean;
  /** Runs `act` when the chat is restored; in the same tick if possible, so that the next frame shows a click. */
  whenRestored<T>(act: () => T | Promise<T>): Promise<T>;
  /** Runs `act` when the chat is restored, unless the chat is stopped before. */
  whenReady(act: () => ChatTurn | Promise<ChatTurn>): Promise<ChatTurn>;
  /**
   * Waits until no other tab works on a message, merges its changes, and runs `act`, unless the chat is stopped before.
   * Holds the lock of the message until the turn has ended and is stored. Without Web Locks `act` runs at once.
   */
  runLocked(messageId: string, act: () => ChatTurn | Promise<ChatTurn>): Promise<ChatTurn>;
  /** Holds the lock of a message that this tab works on, until the turn has ended and is stored. */
  holdLock(messageId: string, turn: Promise<unknown>): void;
  /** Notes a changed message. The message is written soon; the function does not wait. */
  noteChange(messageId: string, message?: ChatMessage): void;
  /** Writes all pending changes; resolves when the storage has them, or has failed. Undefined without a storage. */
  writeAll(): Promise<void> | undefined;
  /**
   * Derives the `idempotency-key` of a response below a message. Its inputs are the same in all tabs and devices: the
   * question or request above it, the number of existing responses, and the request itself. Two devices that send the
   * same request therefore get one response. A chat never reuses a derived key for a second response, even if the app
   * has removed the first one.
   */
  deriveKey(parentId: string | undefined, request: unknown): string;
  /** Allows another use of a key whose request was not sent. */
  forgetKey(key: string | undefined): void;
  /** Rejects the waits for the storage or another tab. */
  stop(reason: unknown): void;
  /** Writes all pending changes and closes the storage. Failed writes are retried even after the close. */
  close(): void;
}

/** A thread with the functions that its persistence needs. */
export interface ThreadContext {
  readonly client: Client;
  readonly storage: RecordStorage;
  /** Name of the collection, without the user. */
  readonly collection: string;
  readonly thread: Thread;
  /** Ids of the initial messages. Stored messages replace them. */
  readonly initialIds: readonly string[];
  /** Shows new text of the response in flight, and how much of the thread is stored. */
  readonly flush: () => void;
  /** Called after another tab has changed the thread. */
  readonly onMerge: () => void;
  /** Continues the work of a closed tab on a message; returns undefined if that is not possible now. */
  readonly resume: (message: ChatMessage) => Promise<unknown> | undefined;
  /** Called by `signOut` while the storage is open. */
  readonly forget: () => unknown;
}

/** The session of a chat without a storage. Each storage brings its own session. */
export const noStorage: StorageSession = {
  isOpen: false,
  status: undefined,
  hasServer: false,
  whenRestored: (act) => Promise.resolve(act()),
  whenReady: (act) => Promise.resolve(act()),
  runLocked: (_, act) => Promise.resolve(act()),
  holdLock() {},
  noteChange() {},
  writeAll: () => undefined,
  deriveKey: createRandomId,
  forgetKey() {},
  stop() {},
  close() {},
};
