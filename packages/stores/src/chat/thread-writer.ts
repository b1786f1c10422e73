import type { StorageStatus } from "@sluice/core";
import { callAfter, toError } from "@sluice/core/extend";
import { reportStorageFailure } from "../base/platform-limits.js";
import { getClientStorage } from "../storage/client-storage.js";
import { createRecordWriter } from "../storage/record-writer.js";
import type { ChatMessage } from "./message.js";
import { isUnfinished, LEAF, toRecord } from "./records.js";
import type { ThreadContext } from "./session.js";

/** Time between two writes of a response in flight, in milliseconds. */
const LIVE_WRITE_MS = 1000;
/** Time between two broadcasts of a response in flight to the other tabs, in milliseconds. */
const LIVE_BROADCAST_MS = 100;

/** Creates the writer of a thread: it writes and broadcasts each message that changes. */
export function createThreadWriter(context: ThreadContext) {
  const { client, collection, thread, flush } = context;
  const storage = getClientStorage(client, context.storage);
  /** Messages that this tab or another one has removed. A slow storage may still return their records. */
  const removed = new Map<string, "here" | "elsewhere">();
  /** Ids of messages that this tab has written or begun to write. */
  const written = new Set<string>();
  let failure: Error | undefined;
  let isWriteQueued = false;
  /** Id of the last resumable stream that was written. */
  let streamId: string | undefined;
  let nextWrite: AbortController | undefined;
  let nextBroadcast: AbortController | undefined;
  const writer = createRecordWriter({
    client,
    storage,
    collection,
    createRecord(id) {
      if (id === LEAF) return thread.path.at(-1)?.id;
      const node = thread.get(id);
      if (node) written.add(id);
      return node && toRecord(node);
    },
    onFailure(error, keys) {
      const ids = keys.filter((key) => key !== LEAF);
      noteFailure(error, ids.length === 1 ? ids[0] : undefined);
    },
    onUnsaved: flush,
  });
  return {
    storage,
    removed,
    hasWritten: (id: string) => written.has(id),
    /** Marks a record for the next write. */
    mark: writer.mark,
    noteChange,
    noteFailure,
    /** Removes a message that the storage does not have. Writes nothing, unless its record is being written. */
    drop(id: string): void {
      const isKnown = thread.has(id);
      thread.remove(id);
      if (writer.unmark(id) && isKnown) removed.delete(id);
    },
    writeAll,
    /** Writes all pending changes at once, because the page may be closed. */
    writeOnUnload(): void {
      // adds text to the thread that has arrived and is not shown yet
      flush();
      prepareWrite();
      writer.writeOnUnload();
    },
    /** Writes all pending changes, and ends the broadcasts. */
    close(): void {
      void writeAll();
      nextBroadcast?.abort();
    },
    /** Returns how much of the thread is stored, once its first read has ended. `isRead` is true if that succeeded. */
    readStatus(isRead: boolean): StorageStatus {
      const error = failure && { error: failure };
      const pending = writer.unsaved.size - Number(writer.unsaved.has(LEAF));
      if (pending > 0) return { status: "unsaved", pending, ...error };
      if (!isRead) return { status: "error", pending, ...error };
      return storage.status?.getSnapshot() ?? { status: "saved", pending };
    },
  };

  /** Notes a changed message, and writes it soon. */
  function noteChange(id: string, message?: ChatMessage): void {
    if (thread.has(id)) removed.delete(id);
    else removed.set(id, "here");
    writer.mark(id);
    if (!isUnfinished(message)) return writeSoon();
    // written soon, so that a reload can continue the response if the page is killed now
    if (message?.streamId !== undefined && message.streamId !== streamId) {
      streamId = message.streamId;
      writeSoon();
    }
    nextWrite ??= startTimer(LIVE_WRITE_MS, writeAll);
    nextBroadcast ??= startTimer(LIVE_BROADCAST_MS, () => broadcast(id));
  }

  function noteFailure(error: unknown, messageId?: string): void {
    failure = toError(error);
    reportStorageFailure(client, error, messageId);
  }

  /** Writes all pending changes; resolves when the storage has them, or has failed. */
  function writeAll(): Promise<void> {
    prepareWrite();
    return writer.write();
  }

  /** Writes all changes of the current task together. */
  function writeSoon(): void {
    if (isWriteQueued) return;
    isWriteQueued = true;
    queueMicrotask(() => {
      isWriteQueued = false;
      void writeAll();
    });
  }

  function prepareWrite(): void {
    nextWrite?.abort();
    nextWrite = undefined;
    if (writer.due.size > 0) writer.mark(LEAF);
  }

  /** Broadcasts a response in flight to the other tabs, between two writes. */
  function broadcast(id: string): void {
    nextBroadcast = undefined;
    const node = thread.get(id);
    if (!node || !isUnfinished(node.message)) return;
    try {
      storage.broadcast?.(collection, new Map([[id, { ...toRecord(node), isBroadcast: true }]]));
    } catch (error) {
      reportStorageFailure(client, error);
    }
  }

  function startTimer(ms: number, act: () => unknown): AbortController {
    const timer = new AbortController();
    callAfter(client.clock, ms, timer.signal, act);
    return timer;
  }
}
