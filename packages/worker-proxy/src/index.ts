export type { Admitted, Checked, Payable, ProxyContext, RouteName, Usage, User } from "./admitted.js";
export type {
  BudgetReader,
  BudgetState,
  Extension,
  ExtensionRoute,
  Meter,
  Reservation,
} from "./extension.js";
export type { Caps } from "./gates/fields.js";
export {
  type RateLimit,
  type RateLimitBinding,
  type RateLimited,
  type TooMany,
  type WorkersRateLimitOptions,
  workersRateLimit,
} from "./gates/limits.js";
export type { Authenticate, Keys, Limits, Models, ProxyOptions } from "./options.js";
export { createProxy, type GatewayProxy } from "./proxy.js";
export type { Outcome, ProxyEvent } from "./report.js";
