import { createFingerprint, createRandomId, hashToId } from "@sluice/core/extend";
import { reportStorageFailure } from "../base/platform-limits.js";
import { getClientStorage } from "../storage/client-storage.js";
import { createRecordWriter } from "../storage/record-writer.js";
import { holdLock, readAgain, restore, runLocked } from "./read-thread.js";
import { LEAF } from "./records.js";
import type { ThreadRecords } from "./session.js";
import {
  closeWriter,
  createStoredRecord,
  noteChange,
  type StoredThread,
  type ThreadContext,
  writeAll,
} from "./stored-thread.js";

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
