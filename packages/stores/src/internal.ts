// Entry for the other packages of this repository. Apps must not import it, because it may change in any version.

export {
  type Chat,
  createStoppedError,
  getLastMessage,
  getStopSignal,
  isBetweenSteps,
  isServerWorking,
  type OpenTurnRunner,
  type ReadOptions,
} from "./chat/chat.js";
export {
  addQuestion,
  addVersion,
  findResponsesAround,
  findVersionPoint,
  type InsertionPoint,
} from "./chat/insertion-point.js";
export { type MergedRecord, mergeMessages, mergeRecords } from "./chat/merge-records.js";
export { isOpen, isPending, QUEUED } from "./chat/message.js";
export type { WhenBusy } from "./chat/options.js";
export type { DeviceCoordination } from "./chat/persistence/device-coordination.js";
export { reportFailure, type StoredThread } from "./chat/persistence/stored-thread.js";
export type { WorkLocks } from "./chat/persistence/work-locks.js";
export type { OpenDevices } from "./chat/persistence.js";
export type { QueuedMessage } from "./chat/queue.js";
export { endAsStopped, isInFlight, parseNode } from "./chat/records.js";
export type { Thread } from "./chat/thread.js";
export { checkInput, parseInput } from "./chat/tool-run.js";
export { createUnsentTurn } from "./chat/turn-ends.js";
export { BUSY } from "./chat/turns.js";
export { normalizeFolder } from "./conversations/record.js";
export { getClientStorage } from "./storage/client-storage.js";
export { registerForget } from "./storage/in-use.js";
export { openIndexedDBStorage } from "./storage/indexed-db.js";
export { isWithin, parseRecords, stringifyRecords } from "./storage/record-texts.js";
export { createRecordWriter } from "./storage/record-writer.js";
export { readWhenPossible, waitForStorage } from "./storage/wait.js";
export { hasLocks, isLocked, withFreeLock, withLock } from "./tabs/locks.js";
