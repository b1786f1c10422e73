export type { SubscriptionBounds } from "./push-delivery.js";
export type { VAPID } from "./subscriptions.js";
export { type WebPush, type WebPushOptions, webPush } from "./web-push.js";
