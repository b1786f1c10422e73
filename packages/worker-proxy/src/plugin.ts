/*
 * For authors of plugins and hosts. `ProxyPlugin` of `@sluice/worker-proxy` is the type of a plugin, and `PluginServer` the
 * proxy as a plugin sees it. The plugins of `@sluice/durable` use the same names.
 */

export type {
  BoundHost,
  HostContext,
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
  Payable,
  PluginRoute,
  Reservation,
  Usage,
  UserData,
} from "./api/plugin.js";
export { collectBytes } from "./base/bytes.js";
export { hashText } from "./base/hash.js";
export { createSigner } from "./base/sign.js";
export { waitAtMost } from "./base/time.js";
export { isPublicURL } from "./checks/addresses.js";
export { readBody } from "./checks/body.js";
export { operation, reading } from "./define-operation.js";
export { definePlugin } from "./define-plugin.js";
export { openGatewayCall } from "./reading/gateway-call.js";
export { logError } from "./refusals/log.js";
export { ensure, readOption } from "./refusals/read-option.js";
export { Refusal } from "./refusals/refusal.js";
export { findServer } from "./server.js";
