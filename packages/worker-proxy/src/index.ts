export { adaptJSONSchema } from "./adapt-json-schema.js";
export { adaptOpenAI } from "./adapt-openai.js";
export type { JobEvent, ProxyEvent, ProxyOutcome, RequestEvent } from "./api/events.js";
export type {
  BoundHost,
  Host,
  HostContext,
  HostSetup,
  Job,
  JobContext,
  JSONValue,
  Operation,
  PluginServer,
  Reader,
  Reading,
  Source,
  SQL,
  StoredPart,
  Timer,
  Transaction,
  Value,
} from "./api/host.js";
export type {
  Authenticate,
  Caps,
  Gateway,
  Keys,
  Limits,
  MediaURLs,
  Models,
  ProxyOptions,
  RateLimit,
  RateLimited,
  Timeout,
  TooMany,
} from "./api/options.js";
export type {
  AdminOperation,
  AdmittedRequest,
  BegunRequest,
  CallOutcome,
  Checked,
  Exhausted,
  Meter,
  OperatorPart,
  OperatorRequest,
  Payable,
  PluginRoute,
  ProxyContext,
  ProxyPlugin,
  Reservation,
  StreamReader,
  Usage,
  User,
  UserData,
} from "./api/plugin.js";
export type { GatewayRoute, RouteGroup, RouteName } from "./api/routes.js";
export { type RateLimitBinding, type WorkersRateLimitOptions, workersRateLimit } from "./checks/rate.js";
export { type EventListener, events } from "./events.js";
export { gatewayHeaders } from "./gateway-headers.js";
export { type HealthOptions, health } from "./health.js";
export { createProxy, type GatewayProxy } from "./proxy.js";
export { readStreams } from "./read-streams.js";
export { chat, textChat } from "./routes/chat.js";
export { assets, epsilon, images, videos } from "./routes/media.js";
