/*
 * The functions that `@sluice/durable` shares with the proxy, and nobody else: their shapes may change with any release.
 * A part of your own needs the types of `@sluice/worker-proxy` alone.
 */

export { type OwnBytes, openBytes, openPipe } from "./base/bytes.js";
export { hashOf } from "./base/hash.js";
export { lettersOf, MARK, signatureOf } from "./base/sign.js";
export { limited, within } from "./base/time.js";
export { isPublic } from "./checks/addresses.js";
export { readBody } from "./checks/body.js";
export { isSame, ownId, tenancyOf } from "./checks/ids.js";
export { isFile } from "./checks/media.js";
export { checkedType } from "./gateway/answer.js";
export { type Call, openCall } from "./gateway/call.js";
export type { Account, Paid, StreamEnd } from "./gateway/exchange.js";
export { holdsKey, passedHeadersOf } from "./gateway/key.js";
export {
  JSON_CHARACTERS,
  outcomeOf,
  parsed,
  readText,
  usageOf,
} from "./gateway/read-json.js";
export { refusalOf } from "./gateway/read-refusal.js";
export { type Asked, ask, type Gateway, isUnconnected } from "./gateway/request.js";
export { markKept } from "./gateway/stored.js";
export { openWay, type Way } from "./gateway/way.js";
export { readAnswer } from "./reading/relay.js";
export { openAccount } from "./reading/reservation.js";
export { isCredential, logCause, logError, notifyOf } from "./refusals/log.js";
export { ensure, readBinding, readOption } from "./refusals/read-option.js";
export {
  decided,
  errorBody,
  misconfigured,
  Refusal,
  refusalIn,
  textOf,
  tooMany,
} from "./refusals/refusal.js";
export type { Details } from "./refusals/texts.js";
export { type Server, serverIn, serverOf } from "./server.js";
