/*
 * For authors of plugins and hosts. `ProxyPlugin` of `@sluice/worker-proxy` is the type of a plugin, and `PluginServer` the
 * proxy as a plugin sees it. The plugins of `@sluice/durable` use the same names.
 */

export type {
  BoundHost,
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
  Transaction,
  Value,
} from "./api/host.js";
export type {
  AdminOperation,
  AdmittedRequest,
  CallOutcome,
  Exhausted,
  Meter,
  Payable,
  PluginRoute,
  Reservation,
  Usage,
  UserData,
} from "./api/plugin.js";
export { collectBytes } from "./base/bytes.js";
export { hashText } from "./base/hash.js";
export { isSameMark, signMark } from "./base/sign.js";
export { waitAtMost } from "./base/time.js";
export { isPublicURL } from "./checks/addresses.js";
export { readBody } from "./checks/body.js";
export { createTenancy } from "./checks/ids.js";
export { isFile } from "./checks/media.js";
export { operation, reading } from "./define-operation.js";
export { definePlugin } from "./define-plugin.js";
export { markStored } from "./gateway/stored.js";
export { type GatewayCall, openGatewayCall } from "./reading/gateway-call.js";
export { openAccount } from "./reading/reservation.js";
export { logError } from "./refusals/log.js";
export { ensure, readOption } from "./refusals/read-option.js";
export { Refusal } from "./refusals/refusal.js";
export { connectAs, findServer } from "./server.js";
