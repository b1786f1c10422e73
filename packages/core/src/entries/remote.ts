export type { RecordRefusal } from "../remote/collections.js";
export { type RemoteStorage, type RemoteStorageOptions, remoteStorage } from "../remote/storage.js";
