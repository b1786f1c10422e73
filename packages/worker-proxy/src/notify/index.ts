export { type AfterEndOptions, afterEnd, type FollowUp, type Reached } from "./after-end.js";
export { archiving } from "./archiving.js";
export { type Webhook, type WebhookOptions, webhook } from "./webhook.js";
