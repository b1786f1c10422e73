export { Budget, type BudgetOptions, budget } from "./budget.js";
export type {
  DurableObjectClass,
  DurableObjectHandlers,
  ObjectNamespace,
  ObjectState,
  ObjectStorage,
} from "./platform.js";
export { type StreamLogOptions, streamLog, streamLogObject } from "./stream-log.js";
export { videoEvents } from "./video-events.js";
export { type VideoWatchOptions, videoWatch } from "./video-watch.js";
