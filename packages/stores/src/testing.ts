export { type StorageCase, storageContract } from "./testing/contract.js";
export type { StorageContract } from "./testing/options.js";
