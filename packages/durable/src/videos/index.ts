export type {
  DeadLetter,
  DeadLetterPage,
} from "../webhooks/dead-letter-rows.js";
export { listDeadLetters, resendDeadLetter } from "../webhooks/dead-letters.js";
export { type WebhookOptions, webhook } from "../webhooks/webhook.js";
export type { EndContext, EndedTask, EndHandler, Received } from "./end-handler.js";
export { type VideoWatchOptions, videoWatch } from "./video-watch.js";
