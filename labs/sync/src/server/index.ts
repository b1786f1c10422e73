export { type SyncOptions, sync } from "./sync.js";
export type { TurnContext, TurnOptions } from "./turns/turn-options.js";
