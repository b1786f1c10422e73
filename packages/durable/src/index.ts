// Budgets

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
} from "./budget/budget.js";
export { inMoney, type MoneyPrices, type PriceTable } from "./budget/in-money.js";
export { Budget } from "./budget/ledger.js";
export { type MostTokensOptions, mostTokens } from "./budget/most-tokens.js";

// Kept answers

export { type StreamLogOptions, streamLog, streamLogObject } from "./kept-answers/stream-log.js";

// Exactly once

export { type IdempotencyOptions, idempotency } from "./idempotency/idempotency.js";
export { type OnceOptions, once, onceObject } from "./once/once.js";
export { type ResumableStreamsOptions, resumableStreams } from "./streams/resumable-streams.js";

// Video watch

export type { EndedTask, EndHandler, EndProgress, GivenUp } from "./video-watch/end.js";
export { type VideoEventsOptions, videoEvents } from "./video-watch/video-events.js";
export { type VideoWatchOptions, videoWatch } from "./video-watch/video-watch.js";

// Files

export type { ArchivableTask } from "./archive/archive.js";
export type { Bucket } from "./buckets/bucket.js";
export { fileStore } from "./file-store/file-store.js";
export type { FileStoreOptions } from "./file-store/options.js";
export type {
  ListedBucket,
  ListedFile,
  ListedFiles,
  ListOptions,
  MediaBucket,
  MultipartUpload,
  StoredFile,
  UploadedPart,
} from "./files/bucket.js";
export type { FileType } from "./files/file-type.js";
export { mediaIndex } from "./files/media-index.js";
export { type MediaStore, mediaStore } from "./files/media-store.js";
export type { ArchiveOptions, MediaStoreOptions } from "./files/options.js";
export type { FilePage, UserFile } from "./files/user-files.js";

// Notices

export {
  type AfterEndOptions,
  afterEnd,
  type Ended,
  type EndedJob,
  type FollowUp,
  type Reached,
} from "./notices/after-end.js";
export { archiving } from "./notices/archiving.js";
export type { DeadLetter } from "./notices/dead-letter-rows.js";
export { type DeadLetterList, type DeadLetters, deadLetters } from "./notices/dead-letters.js";
export { type Webhook, type WebhookOptions, webhook } from "./notices/webhook.js";

// Operators

export { type AdminOptions, admin } from "./operator/admin.js";
export { type ErasedUser, type ExportedUser, eraseUser, exportUser } from "./operator/user-data.js";

// Objects

export type {
  DurableObjectClass,
  DurableObjectHandlers,
  ObjectNamespace,
  ObjectState,
  ObjectStorage,
} from "./objects/object.js";
