// Entry for the other packages of this repository. Apps must not import it, because it may change in any version.

export type { WhenBusy } from "./chat/options.js";
export { normalizeFolder } from "./conversations/record.js";
export { getClientStorage } from "./storage/client-storage.js";
export { registerForget } from "./storage/in-use.js";
export { waitForStorage } from "./storage/wait.js";
export { hasLocks, isLocked, withLock } from "./tabs/locks.js";
