export {
  type BudgetBy,
  type BudgetLedger,
  type BudgetLimit,
  type BudgetMeter,
  type BudgetOptions,
  type BudgetReader,
  type BudgetRule,
  type BudgetState,
  budget,
} from "./budget.js";
export { Budget } from "./budget-ledger.js";
export type { DeadLetter } from "./dead-letter-rows.js";
export { type DeadLetterList, type DeadLetters, deadLetters } from "./dead-letters.js";
export { type MostTokensOptions, mostTokens } from "./most-tokens.js";
export { type OnceOptions, once, onceObject } from "./once.js";
export type {
  DurableObjectClass,
  DurableObjectHandlers,
  ObjectNamespace,
  ObjectState,
  ObjectStorage,
} from "./platform.js";
export { type StreamLogOptions, streamLog, streamLogObject } from "./stream-log.js";
export { type VideoEventsOptions, videoEvents } from "./video-events.js";
export { type VideoWatchOptions, videoWatch } from "./video-watch.js";
export type { EndedTask, EndHandler, EndProgress, GivenUp } from "./watch-end.js";
