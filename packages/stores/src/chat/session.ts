import type { ChatTurn } from "./message.js";
import type { ThreadRecords } from "./thread-records.js";

/**
 * Phase of the storage of a chat.
 *
 * - `none`: the chat has no storage
 * - `unread`: the chat was not used yet, or was closed during the first read
 * - `reading`: the storage is read for the first time, for at most 3 s. Methods wait for it
 * - `open`: the storage was read or given up; records that arrive later are merged
 * - `closed`: the next use reads it again
 */
export type Phase = "none" | "unread" | "reading" | "open" | "closed";

/** The storage of a chat. The first use opens it, and the first use after `close` opens it again. */
export interface StorageSession {
  readonly phase: Phase;
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

/** Returns true until the thread was read or its storage given up. */
export function isRestoring(phase: Phase): boolean {
  return phase === "unread" || phase === "reading";
}

/** The session of a chat without a storage. A storage brings the code of its own. */
export const noStorage: StorageSession = {
  phase: "none",
  records: undefined,
  whenRestored: (act) => Promise.resolve(act()),
  whenReady: (act) => Promise.resolve(act()),
  runLocked: (_, act) => Promise.resolve(act()),
  stop() {},
  close() {},
};
