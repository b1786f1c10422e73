export type { DeviceLock, DeviceLocks } from "./devices/device-lock.js";
export { createOtherDevices } from "./devices/devices.js";
export type { RecordRefusal } from "./remote/collections.js";
export { type RemoteStorage, type RemoteStorageOptions, remoteStorage } from "./remote/storage.js";
export { serverRunner } from "./turns/server-runner.js";
