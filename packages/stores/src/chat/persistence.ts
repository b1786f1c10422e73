import { getClientStorage } from "../storage/client-storage.js";
import type { DeviceCoordination } from "./device-coordination.js";
import { LEAF } from "./records.js";
import { createResponseKeys } from "./response-keys.js";
import type { StoredThread } from "./stored-thread.js";
import { createTabCoordination } from "./tab-coordination.js";
import { createThreadReader } from "./thread-reader.js";
import type { ThreadRecords } from "./thread-records.js";
import { createThreadWriter } from "./thread-writer.js";
import { createTabLocks, type WorkLocks } from "./work-locks.js";

/** Connects a thread to other devices. `refresh` reads their records. */
export type OpenDevices = (
  collection: string,
  stored: StoredThread,
  tabs: WorkLocks,
  refresh: (id: string) => Promise<void>,
) => DeviceCoordination;

/**
 * Creates the records of one thread: reads the thread, writes its changes, and coordinates with other tabs which of them
 * works on a message. Each message has its own record, so that two tabs never overwrite each other's messages. Devices
 * that share the storage count as tabs; the storage contains the code for them.
 *
 * @throws the storage's error, if the storage can't identify this device
 */
export function createThreadRecords(given: StoredThread): ThreadRecords | Promise<ThreadRecords> {
  const { client, queue, onMerge } = given;
  const stored: StoredThread = {
    ...given,
    storage: getClientStorage(client, given.storage),
    onMerge() {
      queue.prune();
      onMerge();
    },
  };
  const { devices } = stored.storage;
  return devices
    ? devices.id().then((device) => connectThread({ ...stored, device }, devices.open as OpenDevices))
    : connectThread(stored);
}

function connectThread(stored: StoredThread, openDevices?: OpenDevices): ThreadRecords {
  const { client, collection, thread, initial } = stored;
  const refresh = (id?: string) => reader.refresh(id);
  const tabLocks = createTabLocks(client, collection);
  const devices = openDevices?.(collection, stored, tabLocks, refresh);
  const locks = devices?.locks ?? tabLocks;
  const writer = createThreadWriter(stored, () => reader.readAgain());
  const tabs = createTabCoordination(stored, writer, refresh, locks);
  const reader = createThreadReader(stored, writer, tabs, { ...locks, ...devices });
  const { unsaved, noteChange, writeAll } = writer;
  const known = new Set(initial);
  let disconnect: (() => void) | undefined;
  for (const id of thread.listIds()) if (!known.has(id)) writer.mark(id);
  return {
    restore() {
      disconnect = devices?.open();
      return reader.restore();
    },
    noteChange,
    holdLock: tabs.holdLock,
    runLocked: tabs.runLocked,
    isTakenOver: (id, signal) => locks.isTakenOver?.(id, signal),
    ...(devices && { stopElsewhere: devices.stopElsewhere }),
    getSyncStatus: () => devices?.sync(),
    writeAll,
    ...createResponseKeys(stored),
    countUnsaved: () => unsaved.size - Number(unsaved.has(LEAF)),
    close() {
      writer.close();
      reader.close();
      locks.close?.();
      disconnect?.();
    },
  };
}
