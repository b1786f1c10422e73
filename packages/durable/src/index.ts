// Budgets

export { type Budget, type BudgetOptions, budget } from "./budgets/budget.js";
export type { BudgetState } from "./budgets/limit-access.js";
export { maxTokens } from "./budgets/max-tokens.js";
export { type Money, money } from "./budgets/money.js";

// Idempotency and streams

export { type IdempotencyOptions, idempotency } from "./idempotency/idempotency.js";
export { type ResumableStreamsOptions, resumableStreams } from "./streams/resumable-streams.js";

// Videos and webhooks

export type { EndedTask, EndHandler } from "./videos/ends.js";
export { type VideoWatchOptions, videoWatch } from "./videos/video-watch.js";
export { type WebhookOptions, webhook } from "./webhooks/webhook.js";

// Files

export type { Bucket } from "./buckets/bucket.js";
export { fileStore } from "./file-store/file-store.js";
export type { FileStoreOptions } from "./file-store/files/options.js";

// Operators

export { admin } from "./admin/admin.js";
export { type ErasedUser, type ExportedUser, eraseUser, exportUser } from "./admin/user-data.js";
