import type { Client, RecordStorage, StorageStatus } from "@sluice/core";
import { callAfter, createFingerprint, createRandomId, hashToId, toError } from "@sluice/core/extend";
import { reportStorageFailure } from "../base/platform-limits.js";
import { getClientStorage } from "../storage/client-storage.js";
import { createRecordWriter, type RecordWriter } from "../storage/record-writer.js";
import type { ChatMessage } from "./message.js";
import { isUnfinished, LEAF, toRecord } from "./records.js";
import type { Thread } from "./thread.js";

/* The state of one thread's records, and their writes. */

/** A thread with the functions that its persistence needs. */
export interface ThreadContext {
  readonly client: Client;
  readonly storage: RecordStorage;
  /** Name of the collection, without the user. */
  readonly collection: string;
  readonly thread: Thread;
  /** Ids of the initial messages. Stored messages replace them. */
  readonly initial: readonly string[];
  /** Shows new text of the response in flight, and how much of the thread is stored. */
  readonly flush: () => void;
  /** Called after another tab has changed the thread. */
  readonly onMerge: () => void;
  /** Continues the work of a closed tab on a message; returns undefined if that is not possible now. */
  readonly resume: (message: ChatMessage) => Promise<unknown> | undefined;
  /** Called by `signOut` while the storage is open. */
  readonly forget: () => unknown;
}

/** A thread with the state of its records: what this tab has read, written and removed. */
export interface StoredThread extends ThreadContext {
  readonly writer: RecordWriter;
  /** Ids of messages that this tab has removed. A slow storage may still return their records. */
  readonly removed: Set<string>;
  /** Ids of messages that this tab has written or begun to write. */
  readonly own: Set<string>;
  /** Ids of messages that this tab works on or waits for. */
  readonly watched: Set<string>;
  /** Keys of records that the storage had at some time. Records that other tabs only broadcast may be missing in it. */
  readonly storedKeys: Set<string>;
  /** For each read in flight: the ids that other tabs have removed since it began. */
  readonly removals: Set<Set<string>>;
  /** Derived keys of the requests that this tab has sent. */
  readonly sentKeys: Set<string | undefined>;
  /** True once the thread was read. */
  isRead: boolean;
  /** Error of the last failed read or write. */
  failure?: Error;
  /** Aborts at `close`. */
  open: AbortController;
  isWriteQueued: boolean;
  /** Id of the last resumable stream that was written. */
  streamId?: string;
  nextWrite?: AbortController | undefined;
  nextBroadcast?: AbortController | undefined;
}

/** Time between two writes of a response in flight, in milliseconds. */
const LIVE_WRITE_MS = 1000;
/** Time between two broadcasts of a response in flight to the other tabs, in milliseconds. */
const LIVE_BROADCAST_MS = 100;

/** Creates the state of a thread whose records are not read yet. */
export function createStoredThread(context: ThreadContext): StoredThread {
  const { client, collection, flush } = context;
  const storage = getClientStorage(client, context.storage);
  const writer = createRecordWriter({
    client,
    storage,
    collection,
    createRecord: (id) => createStoredRecord(stored, id),
    onFailure(error, keys) {
      stored.failure = toError(error);
      const ids = keys.filter((key) => key !== LEAF);
      reportStorageFailure(client, error, ids.length === 1 ? ids[0] : undefined);
    },
    onUnsaved: flush,
  });
  const stored: StoredThread = {
    ...context,
    storage,
    writer,
    removed: new Set(),
    own: new Set(),
    watched: new Set(),
    storedKeys: new Set(),
    removals: new Set(),
    sentKeys: new Set(),
    isRead: false,
    open: new AbortController(),
    isWriteQueued: false,
  };
  return stored;
}

/** Creates the current record of a key; undefined for a message that was removed. */
function createStoredRecord(stored: StoredThread, id: string): unknown {
  const { thread, own } = stored;
  if (id === LEAF) return thread.path.at(-1)?.id;
  noteRemoval(stored, id);
  const node = thread.get(id);
  if (node) own.add(id);
  return node && toRecord(node);
}

/** Notes a changed message, and writes it soon. */
export function noteChange(stored: StoredThread, id: string, message?: ChatMessage): void {
  // noted now, because a copy of another tab must not restore the message before the next write
  noteRemoval(stored, id);
  stored.writer.mark(id);
  if (!isUnfinished(message)) return writeSoon(stored);
  // written soon, so that a reload can continue the response if the page is killed now
  if (message?.streamId !== undefined && message.streamId !== stored.streamId) {
    stored.streamId = message.streamId;
    writeSoon(stored);
  }
  stored.nextWrite ??= startTimer(stored, LIVE_WRITE_MS, () => writeAll(stored));
  stored.nextBroadcast ??= startTimer(stored, LIVE_BROADCAST_MS, () => broadcast(stored, id));
}

/** Writes all pending changes; resolves when the storage has them, or has failed. */
export function writeAll(stored: StoredThread): Promise<void> {
  prepareWrite(stored);
  return stored.writer.write();
}

/** Writes all pending changes at once, because the page may be closed. */
export function writeOnUnload(stored: StoredThread): void {
  // adds text to the thread that has arrived and is not shown yet
  stored.flush();
  prepareWrite(stored);
  stored.writer.writeOnUnload();
}

/** Returns how much of a thread is stored, once its first read has ended. */
export function readStatus({ writer: { unsaved }, isRead, failure, storage }: StoredThread): StorageStatus {
  const error = failure && { error: failure };
  const pending = unsaved.size - Number(unsaved.has(LEAF));
  if (pending > 0) return { status: "unsaved", pending, ...error };
  if (!isRead) return { status: "error", pending, ...error };
  return storage.status?.getSnapshot() ?? { status: "saved", pending };
}

/** Removes a message that the storage does not have. Writes nothing. */
export function drop({ thread, removed, writer }: StoredThread, id: string): void {
  if (thread.has(id)) {
    thread.remove(id);
    removed.delete(id);
  }
  writer.unmark(id);
}

function startTimer({ client }: StoredThread, ms: number, act: () => unknown): AbortController {
  const timer = new AbortController();
  callAfter(client.clock, ms, timer.signal, act);
  return timer;
}

/** Broadcasts a response in flight to the other tabs, between two writes. */
function broadcast(stored: StoredThread, id: string): void {
  const { client, storage, collection, thread } = stored;
  stored.nextBroadcast = undefined;
  const node = thread.get(id);
  if (!node || !isUnfinished(node.message)) return;
  try {
    storage.broadcast?.(collection, new Map([[id, { ...toRecord(node), isBroadcast: true }]]));
  } catch (error) {
    reportStorageFailure(client, error);
  }
}

/** Writes all changes of the current task together. */
function writeSoon(stored: StoredThread): void {
  if (stored.isWriteQueued) return;
  stored.isWriteQueued = true;
  queueMicrotask(() => {
    stored.isWriteQueued = false;
    void writeAll(stored);
  });
}

function prepareWrite(stored: StoredThread): void {
  const { writer } = stored;
  stored.nextWrite?.abort();
  stored.nextWrite = undefined;
  if (writer.due.size === 0) return;
  for (const id of writer.due) noteRemoval(stored, id);
  writer.mark(LEAF);
}

function noteRemoval({ thread, removed }: StoredThread, id: string): void {
  removed[thread.has(id) ? "delete" : "add"](id);
}

/** Matches the ids that `createRandomId` creates. An id of the app may not be unique. */
const RANDOM_ID = /^(?:\d+(?:-\d+){3}|[\da-f]{8}(?:-[\da-f]{4,12}){4})$/;

/** Derives the key of a response, as documented at `deriveKey` of `StorageSession`. A message needs a unique id for it. */
export function deriveKey(
  { client, collection, thread, sentKeys }: StoredThread,
  below: string | undefined,
  request: unknown,
): string {
  const above = thread.get(below)?.key ?? below;
  if (below === undefined || above === undefined || !RANDOM_ID.test(above)) return createRandomId();
  const responses = thread
    .listIds()
    .filter((id) => thread.getParent(id) === below && thread.get(id)?.message.role === "assistant").length;
  const key = hashToId(`${above} ${responses} ${createFingerprint([client.user, collection, request])}`);
  if (sentKeys.has(key)) return createRandomId();
  sentKeys.add(key);
  return key;
}
