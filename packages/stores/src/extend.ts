/*
 * For authors of add-ons that store data of a user, send what costs money, share work between tabs, or wrap the stores
 * for a framework. Apps need none of these names. They are as stable as those of `@sluice/stores`.
 */

export { cancelWith } from "./base/billing.js";
export { reportStorageFailure } from "./base/platform-limits.js";
export { addUserPrefix } from "./base/user-prefix.js";
export { mergeRecords } from "./chat/merge-copies.js";
export type { ChatOptionsFor } from "./chat/options.js";
export type { ImageOptionsFor } from "./images/state.js";
export { getClientStorage } from "./storage/client-storage.js";
export { registerForget } from "./storage/forget.js";
export { waitForStorage } from "./storage/wait.js";
export { runAlone } from "./tabs/run-alone.js";
