// Entry for the other packages of this repository. Apps must not import it: it may change in any version.

export { systemClock, within } from "./base/clock.js";
export { reportStorageFailure } from "./base/platform-limits.js";
export { createRegistry, createStore, type Registry } from "./base/store.js";
export { signedTypeOf } from "./media/signatures.js";
export { waitForStorage } from "./storage/wait.js";
export { isLocked, withLock } from "./tabs/locks.js";
export { requestOnce } from "./transport/request-once.js";
export { normalizeVideoTask } from "./videos/read-task.js";
