/*
 * For authors of add-ons that store data, share work between tabs, or run the turns of a chat elsewhere, as the sync lab
 * does. Apps need none of these names. They are as stable as those of `@sluice/stores`.
 */

export { cancelWith } from "./base/billing.js";
export { isEqual } from "./base/is-equal.js";
export { reportStorageFailure } from "./base/platform-limits.js";
export { addUserPrefix } from "./base/user-prefix.js";
export { type Chat, isServerWorking } from "./chat/chat.js";
export type { DeviceCoordination } from "./chat/device-coordination.js";
export { addQuestion, addVersion, findResponsesAround, findVersionPoint } from "./chat/insertion-point.js";
export { mergeMessages } from "./chat/merge-records.js";
export { QUEUED } from "./chat/message.js";
export type { OpenDevices } from "./chat/persistence.js";
export { endAsStopped, isInFlight, parseNode } from "./chat/records.js";
export { reportFailure, type StoredThread } from "./chat/stored-thread.js";
export { checkInput, parseInput } from "./chat/tool-run.js";
export { createUnsentTurn } from "./chat/turn-ends.js";
export { BUSY } from "./chat/turns.js";
export type { WorkLocks } from "./chat/work-locks.js";
export { getClientStorage } from "./storage/client-storage.js";
export { registerForget } from "./storage/in-use.js";
export { isWithin, parseRecords, stringifyRecords } from "./storage/record-texts.js";
export { waitForStorage } from "./storage/wait.js";
export { hasLocks, isLocked, withFreeLock, withLock } from "./tabs/locks.js";
