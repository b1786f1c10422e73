export type { Caps } from "./caps.js";
export type { ProxyEvent } from "./events.js";
export type { Admitted, Extension, ExtensionRoute, Meter, Reservation, Usage } from "./extension.js";
export type { Keys, Limits, Models, ProxyContext, ProxyOptions, RouteName, User } from "./options.js";
export { createProxy, type GatewayProxy } from "./proxy.js";
export {
  type RateLimit,
  type RateLimitBinding,
  type RateLimited,
  type TooMany,
  type WorkersRateLimitOptions,
  workersRateLimit,
} from "./rate-limit.js";
