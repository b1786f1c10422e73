import { callAfter, reportStorageFailure } from "@sluice/core/internal";
import { createRecordWriter, type RecordWriter } from "../../storage/record-writer.js";
import { QUEUED } from "../message.js";
import { createQueueRecords, type QueueRecords } from "../queue-records.js";
import { isUnderWay, LEAF, recordOf } from "../records.js";
import type { ThreadKeeper } from "./keeper.js";
import { type KeptThread, report } from "./parts.js";

/** Time between two writes of an answer in flight, in milliseconds. */
const LIVE_WRITE_MS = 1000;
/** Time between two posts of an answer in flight to the other tabs, in milliseconds. */
const LIVE_POST_MS = 100;

/** Writes the messages of one thread. */
export interface ThreadWriter extends Pick<RecordWriter, "mark" | "unsaved">, Pick<ThreadKeeper, "changed"> {
  readonly queue: QueueRecords;
  /** Ids of messages that this tab has removed. A slow storage may still return them. */
  readonly removed: ReadonlySet<string>;
  /** Writes all pending changes; resolves when the storage has them, or has failed. */
  readonly written: () => Promise<void>;
  /** Writes all pending changes; resolves when the storage has taken the last change of a record, however late that is. */
  readonly taken: (key: string) => Promise<void>;
  /** Ids of messages that this tab has written, or has begun to write. */
  readonly own: ReadonlySet<string>;
  /** Removes a message that is not in the storage. Nothing is written. */
  readonly drop: (id: string) => void;
  /** Writes all at once: the page may be closed now. */
  readonly leave: () => void;
  /** Writes all pending changes, and posts nothing more. */
  readonly close: () => void;
}

/** Creates the writer of a thread. `onWritten` is called when the storage has taken records. */
export function createThreadWriter(kept: KeptThread, onWritten: () => void): ThreadWriter {
  const { client, storage, collection, thread, store } = kept;
  const queue = createQueueRecords(kept.queue, changed);
  /** Records of queued messages that have changed. A chat that is closed lets go of its queue, and not of the records. */
  const queued = new Map<string, unknown>();
  const removed = new Set<string>();
  const own = new Set<string>();
  /** Waits for the storage to take a record, by its key. */
  const waiting = new Map<string, () => void>();
  let isWriteQueued = false;
  /** Id of the last kept answer that was written. */
  let streamId: string | undefined;
  let nextWrite: AbortController | undefined;
  let nextPost: AbortController | undefined;
  const writer = createRecordWriter({
    client,
    storage,
    collection,
    recordOf(id) {
      if (id === LEAF) return thread.path.at(-1)?.id;
      if (id.startsWith(QUEUED)) return queued.get(id);
      noteRemoval(id);
      const node = thread.node(id);
      if (node) own.add(id);
      return node && recordOf(node, kept.device);
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
    changed,
    written,
    async taken(key) {
      await written();
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
    leave() {
      // text that has come and is not shown yet is added to the thread
      store.flush();
      prepareWrite();
      writer.leave();
    },
    close() {
      void written();
      nextPost?.abort();
    },
  };

  function changed(id: string, message?: Parameters<ThreadKeeper["changed"]>[1]): void {
    // now: a write that has begun takes what is marked meanwhile
    if (id.startsWith(QUEUED)) {
      if (!queue.isReady(id)) return;
      queued.set(id, queue.recordOf(id));
    }
    // now: a copy that another tab sends before the next write must not bring it back
    else removed[thread.has(id) ? "delete" : "add"](id);
    writer.mark(id);
    if (!isUnderWay(message)) return writeSoon();
    // a page that is killed now leaves the id behind, and a reload continues the answer
    if (message?.streamId !== undefined && message.streamId !== streamId) {
      streamId = message.streamId;
      writeSoon();
    }
    nextWrite ??= later(LIVE_WRITE_MS, written);
    nextPost ??= later(LIVE_POST_MS, () => post(id));
  }

  function later(ms: number, act: () => unknown): AbortController {
    const timer = new AbortController();
    callAfter(client.clock, ms, timer.signal, act);
    return timer;
  }

  /** Shows the growth of an answer in the other tabs, between two writes. */
  function post(id: string): void {
    nextPost = undefined;
    const node = thread.node(id);
    if (!node || !isUnderWay(node.message)) return;
    try {
      storage.pass?.(collection, new Map([[id, { ...recordOf(node, kept.device), isPassed: true }]]));
    } catch (error) {
      report(kept, error);
    }
  }

  /** Writes what changes in this task at once. */
  function writeSoon(): void {
    if (isWriteQueued) return;
    isWriteQueued = true;
    queueMicrotask(() => {
      isWriteQueued = false;
      void written();
    });
  }

  function written(): Promise<void> {
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
    removed[thread.node(id) ? "delete" : "add"](id);
  }
}
