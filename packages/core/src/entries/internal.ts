// Old names for code that is not yet moved to `extend.ts`.

export { createOptionsReader as createReader } from "../base/store.js";
export { getDelivery as findDelivery, getDelivery as readDelivery } from "../transport/failure.js";
export { parseVideoTask } from "../videos/read-task.js";
export * from "./extend.js";
export * from "./files.js";
export * from "./sse.js";
