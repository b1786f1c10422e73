export type {
  Admitted,
  CallOutcome,
  Checked,
  Exhausted,
  Extension,
  ExtensionRoute,
  Meter,
  Operation,
  OperatorPart,
  OperatorRequest,
  Payable,
  ProxyContext,
  Reservation,
  Usage,
  User,
  UserData,
} from "./admitted.js";
export { type RateLimitBinding, type WorkersRateLimitOptions, workersRateLimit } from "./gates/rate.js";
export type { JobEvent, JobOutcome, OnJobEvent } from "./job-event.js";
export type {
  Authenticate,
  BegunRequest,
  Caps,
  Health,
  Keys,
  Limits,
  Media,
  Models,
  OnEvent,
  ProxyOptions,
  RateLimit,
  RateLimited,
  TooMany,
} from "./options.js";
export { createProxy, type GatewayProxy } from "./proxy.js";
export type { AnyEvent, Outcome, ProxyEvent } from "./report.js";
export type { RouteName } from "./routes.js";
