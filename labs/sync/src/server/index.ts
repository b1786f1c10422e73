export { type SyncOptions, sync } from "./sync.js";
