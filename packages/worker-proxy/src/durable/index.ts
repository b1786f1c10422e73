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
export {
  type EndedTask,
  type EndHandler,
  type EndProgress,
  type GivenUp,
  type VideoEventsOptions,
  type VideoWatchOptions,
  videoEvents,
  videoWatch,
} from "./video-watch.js";
