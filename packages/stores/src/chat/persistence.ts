import { storageOf } from "../storage/client-storage.js";
import { createAnswerKeys } from "./persistence/answer-keys.js";
import type { ThreadKeeper } from "./persistence/keeper.js";
import type { OtherDevices } from "./persistence/other-devices.js";
import { createOtherTabs } from "./persistence/other-tabs.js";
import type { KeptThread } from "./persistence/parts.js";
import { createThreadReader } from "./persistence/reading.js";
import { createTabLocks, type WorkLocks } from "./persistence/work-locks.js";
import { createThreadWriter } from "./persistence/writing.js";
import { LEAF } from "./records.js";

/** Makes the side of a thread that other devices see. `refresh` reads what they have written. */
export type OpenDevices = (
  collection: string,
  kept: KeptThread,
  tabs: WorkLocks,
  refresh: (id: string) => Promise<void>,
) => OtherDevices;

/**
 * Creates the keeper of one thread: it reads the thread, writes its changes, and agrees with other tabs on who works on
 * a message. Each message has its own record, so that two tabs never overwrite each other's messages. Devices that share
 * the storage count as tabs: the storage brings the code for them.
 *
 * @throws the storage's error, where it can't tell which device this is
 */
export function createKeeper(given: KeptThread): ThreadKeeper | Promise<ThreadKeeper> {
  const { client, queue, onMerge } = given;
  const kept: KeptThread = {
    ...given,
    storage: storageOf(client, given.storage),
    onMerge() {
      queue.prune();
      onMerge();
    },
  };
  const { devices } = kept.storage;
  return devices
    ? devices.id().then((device) => keeperOf({ ...kept, device }, devices.open as OpenDevices))
    : keeperOf(kept);
}

function keeperOf(kept: KeptThread, openDevices?: OpenDevices): ThreadKeeper {
  const { client, collection, thread, initial } = kept;
  const refresh = (id?: string) => reader.refresh(id);
  const tabLocks = createTabLocks(client, collection);
  const devices = openDevices?.(collection, kept, tabLocks, refresh);
  const locks = devices?.locks ?? tabLocks;
  const writer = createThreadWriter(kept, () => reader.readAgain());
  const tabs = createOtherTabs(kept, writer, refresh, locks);
  const reader = createThreadReader(kept, writer, tabs, { ...locks, ...devices });
  const { unsaved, changed, written } = writer;
  const known = new Set(initial);
  let leave: (() => void) | undefined;
  for (const id of thread.ids()) if (!known.has(id)) writer.mark(id);
  return {
    restore() {
      leave = devices?.open();
      return reader.restore();
    },
    changed,
    hold: tabs.hold,
    withLockOf: tabs.withLockOf,
    isTaken: (id, signal) => locks.isTaken?.(id, signal),
    ...(devices && { stopElsewhere: devices.stopElsewhere }),
    sync: () => devices?.sync(),
    written,
    ...createAnswerKeys(kept),
    unsaved: () => unsaved.size - Number(unsaved.has(LEAF)),
    close() {
      writer.close();
      reader.close();
      locks.close?.();
      leave?.();
    },
  };
}
