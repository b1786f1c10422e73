import { storageOf } from "../../storage/client-storage.js";
import type { ThreadKeeper } from "./persistence/keeper.js";
import { createOtherTabs } from "./persistence/other-tabs.js";
import type { KeptThread } from "./persistence/parts.js";
import { createThreadReader } from "./persistence/reading.js";
import { createThreadWriter } from "./persistence/writing.js";
import { LEAF } from "./records.js";

/**
 * Creates the keeper of one thread: it reads the thread, writes its changes, and agrees with other tabs on who works on
 * a message. Each message has its own record, so that two tabs never overwrite each other's messages.
 */
export function createKeeper(given: KeptThread): ThreadKeeper {
  const { client, thread, initial, queue, onMerge } = given;
  const kept: KeptThread = {
    ...given,
    storage: storageOf(client, given.storage),
    onMerge() {
      queue.prune();
      onMerge();
    },
  };
  const writer = createThreadWriter(kept, () => reader.readAgain());
  const tabs = createOtherTabs(kept, writer, (id) => reader.refresh(id));
  const reader = createThreadReader(kept, writer, tabs);
  const { unsaved, changed, written } = writer;
  const known = new Set(initial);
  for (const id of thread.ids()) if (!known.has(id)) writer.mark(id);
  return {
    restore: reader.restore,
    changed,
    hold: tabs.hold,
    withLockOf: tabs.withLockOf,
    written,
    unsaved: () => unsaved.size - Number(unsaved.has(LEAF)),
    close() {
      writer.close();
      reader.close();
    },
  };
}
