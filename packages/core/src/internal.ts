// Entry for the other packages of this repository. Apps must not import it: it may change in any version.

export { systemClock } from "./base/clock.js";
export { reportStorageFailure } from "./base/platform-limits.js";
export { createRegistry, createStore, type Registry } from "./base/store.js";
export { waitForStorage } from "./storage/wait.js";
export { isLocked, withLock } from "./tabs/locks.js";
