import { getClientStorage } from "../storage/client-storage.js";
import { LEAF } from "./records.js";
import { createResponseKeys } from "./response-keys.js";
import type { StoredThread } from "./stored-thread.js";
import { createTabCoordination } from "./tab-coordination.js";
import { createThreadReader } from "./thread-reader.js";
import type { ThreadRecords } from "./thread-records.js";
import { createThreadWriter } from "./thread-writer.js";
import { createTabLocks } from "./work-locks.js";

/**
 * Creates the records of one thread: reads the thread, writes its changes, and coordinates with other tabs which of them
 * works on a message. Each message has its own record, so that two tabs never overwrite each other's messages.
 */
export function createThreadRecords(given: StoredThread): ThreadRecords {
  const { client, collection, queue, thread, initial, onMerge } = given;
  const stored: StoredThread = {
    ...given,
    storage: getClientStorage(client, given.storage),
    onMerge() {
      queue.prune();
      onMerge();
    },
  };
  const refresh = (id?: string) => reader.refresh(id);
  const locks = createTabLocks(client, collection);
  const writer = createThreadWriter(stored, () => reader.readAgain());
  const tabs = createTabCoordination(stored, writer, refresh, locks);
  const reader = createThreadReader(stored, writer, tabs, locks);
  const { unsaved, noteChange, writeAll } = writer;
  const known = new Set(initial);
  for (const id of thread.listIds()) if (!known.has(id)) writer.mark(id);
  return {
    restore: reader.restore,
    noteChange,
    holdLock: tabs.holdLock,
    runLocked: tabs.runLocked,
    writeAll,
    ...createResponseKeys(stored),
    countUnsaved: () => unsaved.size - Number(unsaved.has(LEAF)),
    close() {
      writer.close();
      reader.close();
    },
  };
}
