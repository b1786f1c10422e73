export type { BatchItem } from "./item.js";
export type { BatchOptions } from "./options.js";
export type { BatchRequest } from "./request.js";
export type { Batch, BatchState } from "./state.js";
export { createBatch } from "./store.js";
