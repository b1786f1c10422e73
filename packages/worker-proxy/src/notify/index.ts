export { type AfterEndOptions, afterEnd, type FollowUp, type Reached } from "./after-end.js";
export { archiving } from "./archiving.js";
export { type WebhookOptions, webhook } from "./webhook.js";
