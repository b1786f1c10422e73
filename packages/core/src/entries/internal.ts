// Entry for the other packages of this repository. Apps must not import it: it may change in any version.

export { systemClock, within } from "../base/clock.js";
export { didYouMean } from "../base/nearest.js";
export { noteOptions } from "../base/note-options.js";
export type { WithOptions } from "../base/option-names.js";
export { reportStorageFailure } from "../base/platform-limits.js";
export { unknownProxyOptions } from "../base/proxy-option-names.js";
export { randomId, randomWords } from "../base/random-id.js";
export { fingerprintOf } from "../base/same.js";
export { scoped } from "../base/scope.js";
export { createRegistry, createStore, type Registry } from "../base/store.js";
export { joinRecords } from "../chat/conversation/join-records.js";
export { isErrorEvent } from "../chat/protocol/reported-error.js";
export { createStrayLines } from "../chat/protocol/stray-lines.js";
export { signedTypeOf } from "../files/signatures.js";
export { storageOf } from "../storage/client-storage.js";
export { onForget } from "../storage/in-use.js";
export { createRecordWriter } from "../storage/record-writer.js";
export { readWhenPossible } from "../storage/wait.js";
export { isLocked, withLock } from "../tabs/locks.js";
export { pagePresence } from "../tabs/page-activity.js";
export { hasOffer } from "../transport/ask-offers.js";
export { isRecord, parseJSON } from "../transport/error-response.js";
export { keepsKey } from "../transport/failure.js";
export { requestOnce } from "../transport/request-once.js";
export { normalizeVideoTask } from "../videos/read-task.js";
