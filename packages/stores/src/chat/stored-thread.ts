import type { Client, RecordStorage } from "@sluice/core";
import { createFingerprint, createRandomId, hashToId } from "@sluice/core/extend";
import { reportStorageFailure } from "../base/platform-limits.js";
import { getClientStorage } from "../storage/client-storage.js";
import { createRecordWriter, type RecordWriter } from "../storage/record-writer.js";
import type { ChatMessage } from "./message.js";
import { readAgain, refresh, restore } from "./read-thread.js";
import { LEAF } from "./records.js";
import type { ThreadRecords } from "./session.js";
import { holdLock, runLocked } from "./tab-work.js";
import type { Thread } from "./thread.js";
import { closeWriter, createStoredRecord, noteChange, writeAll } from "./write-thread.js";

/** A thread with the functions that its persistence needs. */
export interface ThreadContext {
  readonly client: Client;
  readonly storage: RecordStorage;
  /** Name of the collection, without the user. */
  readonly collection: string;
  readonly thread: Thread;
  /** Ids of the initial messages. Stored messages replace them. */
  readonly initial: readonly string[];
  /** Shows new text of the response in flight, and the number of unsaved messages. */
  readonly flush: () => void;
  /** Called after another tab has changed the thread. */
  readonly onMerge: () => void;
  /** Continues the work of a closed tab on a message; returns undefined if that is not possible now. */
  readonly resume: (message: ChatMessage) => Promise<unknown> | undefined;
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
  /** Until the thread is read, each successful write tries to read it again. */
  isRead: boolean;
  isReading: boolean;
  /** Aborts at `close`. */
  open: AbortController;
  isWriteQueued: boolean;
  /** Id of the last resumable stream that was written. */
  streamId?: string;
  nextWrite?: AbortController | undefined;
  nextBroadcast?: AbortController | undefined;
  /** Reads the records of other tabs. The caller holds the lock of `id`, so that its record does not change. */
  readonly refresh: (id: string) => Promise<void>;
}

/**
 * Creates the records of one thread: reads the thread, writes its changes, and coordinates with other tabs which of them
 * works on a message. Each message has its own record, so that two tabs never overwrite each other's messages.
 */
export function createThreadRecords(context: ThreadContext): ThreadRecords {
  const { client, collection, thread, initial, flush } = context;
  const storage = getClientStorage(client, context.storage);
  const writer = createRecordWriter({
    client,
    storage,
    collection,
    createRecord: (id) => createStoredRecord(stored, id),
    onFailure(error, keys) {
      const ids = keys.filter((key) => key !== LEAF);
      reportStorageFailure(client, error, ids.length === 1 ? ids[0] : undefined);
    },
    onWritten: () => readAgain(stored),
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
    isRead: false,
    isReading: false,
    open: new AbortController(),
    isWriteQueued: false,
    refresh: (id) => refresh(stored, id),
  };
  const known = new Set(initial);
  for (const id of thread.listIds()) if (!known.has(id)) writer.mark(id);
  const sentKeys = new Set<string | undefined>();
  return {
    restore: () => restore(stored),
    noteChange: (id, message) => noteChange(stored, id, message),
    holdLock: (id, turn) => holdLock(stored, id, turn),
    runLocked: (id, signal, act) => runLocked(stored, id, signal, act),
    writeAll: () => writeAll(stored),
    deriveKey(below, request) {
      const key = deriveKey(stored, below, request);
      if (key === undefined || sentKeys.has(key)) return createRandomId();
      sentKeys.add(key);
      return key;
    },
    forgetKey: (key) => void sentKeys.delete(key),
    countUnsaved: () => writer.unsaved.size - Number(writer.unsaved.has(LEAF)),
    close() {
      closeWriter(stored);
      stored.open.abort();
    },
  };
}

/** Matches the ids that `createRandomId` creates. An id of the app may not be unique. */
const RANDOM_ID = /^\d+(-\d+){3}$/;

/** Derives the key of a response, as documented at `deriveKey` of {@link ThreadRecords}; undefined without a unique id. */
function deriveKey(
  { client, collection, thread }: StoredThread,
  below: string | undefined,
  request: unknown,
): string | undefined {
  const above = thread.get(below)?.key ?? below;
  if (below === undefined || above === undefined || !RANDOM_ID.test(above)) return undefined;
  const responses = thread
    .listIds()
    .filter((id) => thread.getParent(id) === below && thread.get(id)?.message.role === "assistant").length;
  return hashToId(`${above} ${responses} ${createFingerprint([client.user, collection, request])}`);
}
