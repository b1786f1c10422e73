import type { Client, RecordStorage } from "@sluice/core";
import type { StoreControl } from "@sluice/core/extend";
import { reportStorageFailure } from "../base/platform-limits.js";
import type { ChatMessage } from "./message.js";
import type { MessageQueue } from "./queue.js";
import type { Thread } from "./thread.js";

/** A thread with its storage, and the functions that persistence needs. */
export interface StoredThread {
  readonly client: Client;
  readonly storage: RecordStorage;
  readonly collection: string;
  readonly thread: Thread;
  /** Messages that wait for their turn. Their records are in the same collection. */
  readonly queue: MessageQueue;
  /** Ids of the initial messages. Stored messages replace them. */
  readonly initial: readonly string[];
  readonly store: Pick<StoreControl<unknown>, "flush">;
  /** Returns true while this page works on a turn. The queue follows it. */
  readonly isRunning: () => boolean;
  /** Called after another tab has changed the thread. */
  readonly onMerge: () => void;
  /**
   * Continues a response of a closed tab that the proxy stores; returns undefined if that is not possible now.
   */
  readonly resume: (message: ChatMessage) => Promise<unknown> | undefined;
}

/**
 * Reports an error of the storage, unless the chat was closed.
 */
export function reportFailure({ client }: StoredThread, error: unknown, signal?: AbortSignal): void {
  if (!signal?.aborted) reportStorageFailure(client, error);
}
