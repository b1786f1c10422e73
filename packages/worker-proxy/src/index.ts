export type { ProxyEvent } from "./events.js";
export type { Limits, ProxyContext, ProxyOptions, RouteName, User } from "./options.js";
export { createProxy, type GatewayProxy } from "./proxy.js";
