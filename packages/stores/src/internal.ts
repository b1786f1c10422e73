// Entry for the other packages of this repository. Apps must not import it: it may change in any version.

export {
  type Chat,
  isBetweenSteps,
  isServing,
  lastMessage,
  type OpenTurnRunner,
  type ReadOptions,
  stopped,
  stopSignalOf,
} from "./chat/chat.js";
export { type JoinedRecord, joinMessages, joinRecords } from "./chat/join-records.js";
export { isOpen, isPending, QUEUED } from "./chat/message.js";
export type { WhenBusy } from "./chat/options.js";
export type { OtherDevices } from "./chat/persistence/other-devices.js";
export { type KeptThread, report } from "./chat/persistence/parts.js";
export type { WorkLocks } from "./chat/persistence/work-locks.js";
export type { OpenDevices } from "./chat/persistence.js";
export { addQuestion, addVersion, answersAround, type Place, placeOfVersion } from "./chat/place.js";
export type { QueuedMessage } from "./chat/queue.js";
export { isInFlight, nodeOf, stoppedElsewhere } from "./chat/records.js";
export type { Thread } from "./chat/thread.js";
export { checkedInput, inputOf } from "./chat/tool-run.js";
export { notSent } from "./chat/turn-ends.js";
export { BUSY } from "./chat/turns.js";
export { folderOf } from "./conversations/record.js";
export { storageOf } from "./storage/client-storage.js";
export { onForget } from "./storage/in-use.js";
export { openIndexedDBStorage } from "./storage/indexed-db.js";
export { createRecordWriter } from "./storage/record-writer.js";
export { isWithin, recordsOf, textsOf } from "./storage/texts.js";
export { readWhenPossible, waitForStorage } from "./storage/wait.js";
export { hasLocks, isLocked, withFreeLock, withLock } from "./tabs/locks.js";
