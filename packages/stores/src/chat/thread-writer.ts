import { callAfter } from "@sluice/core/extend";
import { reportStorageFailure } from "../base/platform-limits.js";
import { createRecordWriter, type RecordWriter } from "../storage/record-writer.js";
import { QUEUED } from "./message.js";
import { createQueueRecords, type QueueRecords } from "./queue-records.js";
import { isUnfinished, LEAF, toRecord } from "./records.js";
import { reportFailure, type StoredThread } from "./stored-thread.js";
import type { ThreadRecords } from "./thread-records.js";

/** Time between two writes of a response in flight, in milliseconds. */
const LIVE_WRITE_MS = 1000;
/** Time between two broadcasts of a response in flight to the other tabs, in milliseconds. */
const LIVE_BROADCAST_MS = 100;

/** Writes the messages of one thread. */
export interface ThreadWriter
  extends Pick<RecordWriter, "mark" | "unsaved">,
    Pick<ThreadRecords, "noteChange"> {
  readonly queue: QueueRecords;
  /** Ids of messages that this tab has removed. A slow storage may still return their records. */
  readonly removed: ReadonlySet<string>;
  /** Writes all pending changes; resolves when the storage has them, or has failed. */
  readonly writeAll: () => Promise<void>;
  /** Writes all pending changes; resolves when the storage has the last change of the record, without a time limit. */
  readonly waitUntilStored: (key: string) => Promise<void>;
  /** Ids of messages that this tab has written or begun to write. */
  readonly own: ReadonlySet<string>;
  /** Removes a message that the storage does not have. Writes nothing. */
  readonly drop: (id: string) => void;
  /** Writes all pending changes at once, because the page may be closed. */
  readonly writeOnUnload: () => void;
  /** Writes all pending changes and ends the broadcasts. */
  readonly close: () => void;
}

/** Creates the writer of a thread. `onWritten` is called when the storage has written records. */
export function createThreadWriter(stored: StoredThread, onWritten: () => void): ThreadWriter {
  const { client, storage, collection, thread, store } = stored;
  const queue = createQueueRecords(stored.queue, noteChange);
  /** Changed records of queued messages. A close of the chat empties its queue, but not this map. */
  const queued = new Map<string, unknown>();
  const removed = new Set<string>();
  const own = new Set<string>();
  /** Functions that end a wait for a record's write, by key. */
  const waiting = new Map<string, () => void>();
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
      if (id.startsWith(QUEUED)) return queued.get(id);
      noteRemoval(id);
      const node = thread.get(id);
      if (node) own.add(id);
      return node && toRecord(node);
    },
    onFailure(error, keys) {
      const ids = keys.filter((key) => key !== LEAF);
      reportStorageFailure(client, error, ids.length === 1 ? ids[0] : undefined);
    },
    onWritten() {
      endWaits();
      onWritten();
    },
    onUnsaved() {
      endWaits();
      store.flush();
    },
  });
  return {
    queue,
    removed,
    own,
    unsaved: writer.unsaved,
    mark: writer.mark,
    noteChange,
    writeAll,
    async waitUntilStored(key) {
      await writeAll();
      await new Promise<void>((resolve) => {
        waiting.set(key, resolve);
        endWaits();
      });
    },
    drop(id) {
      if (!thread.has(id)) return writer.unmark(id);
      thread.remove(id);
      removed.delete(id);
      writer.unmark(id);
    },
    writeOnUnload() {
      // adds text to the thread that has arrived and is not shown yet
      store.flush();
      prepareWrite();
      writer.writeOnUnload();
    },
    close() {
      void writeAll();
      nextBroadcast?.abort();
    },
  };

  function noteChange(id: string, message?: Parameters<ThreadRecords["noteChange"]>[1]): void {
    // created now, because a write in progress includes records that are marked meanwhile
    if (id.startsWith(QUEUED)) {
      if (!queue.isReady(id)) return;
      queued.set(id, queue.createRecord(id));
    }
    // noted now, because a copy of another tab must not restore the message before the next write
    else removed[thread.has(id) ? "delete" : "add"](id);
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

  function startTimer(ms: number, act: () => unknown): AbortController {
    const timer = new AbortController();
    callAfter(client.clock, ms, timer.signal, act);
    return timer;
  }

  /** Broadcasts a response in flight to the other tabs, between two writes. */
  function broadcast(id: string): void {
    nextBroadcast = undefined;
    const node = thread.get(id);
    if (!node || !isUnfinished(node.message)) return;
    try {
      storage.pass?.(collection, new Map([[id, { ...toRecord(node), isPassed: true }]]));
    } catch (error) {
      reportFailure(stored, error);
    }
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

  function writeAll(): Promise<void> {
    prepareWrite();
    return writer.write();
  }

  function endWaits(): void {
    for (const [key, resolve] of waiting) {
      if (writer.due.has(key) || writer.unsaved.has(key)) continue;
      waiting.delete(key);
      resolve();
    }
  }

  function prepareWrite(): void {
    nextWrite?.abort();
    nextWrite = undefined;
    if (writer.due.size === 0) return;
    for (const id of writer.due) noteRemoval(id);
    writer.mark(LEAF);
  }

  function noteRemoval(id: string): void {
    removed[thread.get(id) ? "delete" : "add"](id);
  }
}
