/*
 * Helpers for authors of plugins. `ProxyPlugin` of `@sluice/worker-proxy` is the type of a plugin; these
 * functions send and read requests as the proxy does.
 */

export { collectBytes, type OwnBytes } from "./base/bytes.js";
export { hashText } from "./base/hash.js";
export { encodeMark, MARK_LENGTH, signMark } from "./base/sign.js";
export { limitTime, waitAtMost } from "./base/time.js";
export { isPublicURL } from "./checks/addresses.js";
export { readBody } from "./checks/body.js";
export { createTenancy, isSame, verifyId } from "./checks/ids.js";
export { isFile } from "./checks/media.js";
// the request to the gateway
export { type Call, openCall } from "./gateway/call.js";
export type { Account, Paid, StreamEnd } from "./gateway/exchange.js";
export { containsKey, selectHeaders } from "./gateway/key.js";
// the response
export { MAX_JSON_CHARACTERS, parseJSON, readOutcome, readText, readUsage } from "./gateway/read-json.js";
export { readRefusal } from "./gateway/read-refusal.js";
export { type GatewayConnection, isUnconnected, type RequestFacts, sendRequest } from "./gateway/request.js";
export { checkType } from "./gateway/respond.js";
export { markStored, type StoredMark } from "./gateway/stored.js";
export { readEventStream } from "./reading/relay.js";
export { openAccount } from "./reading/reservation.js";
// refusals and the log
export { isCredential, logCause, logError } from "./refusals/log.js";
// options, ids and bodies
export { ensure, readBinding, readOption } from "./refusals/read-option.js";
export {
  decide,
  describeRefusal,
  formatError,
  Refusal,
  refuseSetup,
  refuseTooMany,
  toRefusal,
} from "./refusals/refusal.js";
export type { RefusalDetails } from "./refusals/texts.js";
export { castServer, connectAs, findServer, type Server, type UserConnection } from "./server.js";
