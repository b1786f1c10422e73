export type { BatchItem, BatchItemState, BatchResult } from "./item.js";
export type { BatchOptions } from "./options.js";
export type { BatchRequest } from "./request.js";
export type { Batch, BatchState, BatchUsage } from "./state.js";
export { createBatch } from "./store.js";
