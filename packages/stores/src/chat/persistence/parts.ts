import type { Client, RecordStorage } from "@sluice/core";
import { reportStorageFailure, type StoreControl } from "@sluice/core/internal";
import type { ChatMessage } from "../message.js";
import type { MessageQueue } from "../queue.js";
import type { Thread } from "../thread.js";

/** A thread that is kept, and what keeps it. */
export interface KeptThread {
  readonly client: Client;
  readonly storage: RecordStorage;
  readonly collection: string;
  /** Id of this device, where several devices share the thread. */
  readonly device?: string;
  readonly thread: Thread;
  /** Messages that wait for their turn; their records are beside the messages. */
  readonly queue: MessageQueue;
  /** Ids of the messages that the chat began with. Stored messages replace them. */
  readonly initial: readonly string[];
  readonly store: Pick<StoreControl<unknown>, "flush">;
  /** Returns true while this page works on a turn: its queue follows it. */
  readonly isRunning: () => boolean;
  /** Called after another tab has changed the thread. */
  readonly onMerge: () => void;
  /**
   * Continues to read an answer that a closed tab left and the proxy keeps; undefined where that is not possible now.
   */
  readonly resume: (message: ChatMessage) => Promise<unknown> | undefined;
}

/** Reports an error of the storage, unless the chat was closed meanwhile. */
export function report({ client }: KeptThread, error: unknown, signal?: AbortSignal): void {
  if (!signal?.aborted) reportStorageFailure(client, error);
}
