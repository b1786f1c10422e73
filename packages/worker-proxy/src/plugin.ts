/*
 * For authors of plugins and hosts. `ProxyPlugin` of `@sluice/worker-proxy` is the type of a plugin. With these functions a
 * plugin sends requests, reads responses, refuses and logs as the proxy does. The plugins of `@sluice/durable` use the same
 * names.
 */

export type {
  BoundHost,
  GatewayConnection,
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
export type { Keys } from "./api/options.js";
export type {
  AdminOperation,
  AdmittedRequest,
  BegunRequest,
  CallOutcome,
  Checked,
  Exhausted,
  Meter,
  OperatorRequest,
  Payable,
  PluginRoute,
  Reservation,
  Usage,
  UserData,
} from "./api/plugin.js";
export { collectBytes, type OwnBytes } from "./base/bytes.js";
export { hashText } from "./base/hash.js";
export { isSameMark, signMark } from "./base/sign.js";
export { limitTime, waitAtMost } from "./base/time.js";
export { isPublicURL } from "./checks/addresses.js";
export { readBody } from "./checks/body.js";
export { createTenancy } from "./checks/ids.js";
export { isFile } from "./checks/media.js";
export { createFindOperator } from "./checks/operator.js";
export { definePlugin } from "./define-plugin.js";
export { type Call, openCall } from "./gateway/call.js";
export type { Account, StreamEnd } from "./gateway/exchange.js";
export { containsKey, selectHeaders } from "./gateway/key.js";
export { parseJSON, readText } from "./gateway/read-json.js";
export { readRefusal } from "./gateway/read-refusal.js";
export { isUnconnected, sendRequest } from "./gateway/request.js";
export { checkType } from "./gateway/respond.js";
export { markStored } from "./gateway/stored.js";
export { readOutcome } from "./reading/json-outcome.js";
export { readEventStream } from "./reading/relay.js";
export { openAccount } from "./reading/reservation.js";
export { isCredential, logCause, logError } from "./refusals/log.js";
export { ensure, readBinding, readOption } from "./refusals/read-option.js";
export { decide, describeRefusal, formatError, Refusal, refuseSetup, toRefusal } from "./refusals/refusal.js";
export type { RefusalDetails } from "./refusals/texts.js";
export { connectAs, findServer } from "./server.js";
