export type { ProxyEvent } from "./events.js";
export type { Limits, ProxyOptions, RouteName, User } from "./options.js";
export { createProxy, type Proxy } from "./proxy.js";
