export { type ServerRunnerOptions, serverRunner } from "./server-runner.js";
export { type RemoteStorage, type RemoteStorageOptions, remoteStorage } from "./storage.js";
export { SyncError, type SyncErrorKind } from "./sync-error.js";
