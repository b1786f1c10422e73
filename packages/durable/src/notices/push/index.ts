export type { SubscriptionBounds, VAPID } from "./subscriptions.js";
export { type WebPush, type WebPushOptions, webPush } from "./web-push.js";
