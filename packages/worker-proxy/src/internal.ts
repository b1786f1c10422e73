/*
 * The functions that `@sluice/durable` shares with the proxy, and nobody else: their shapes may change with any release.
 * A part of your own needs the types of `@sluice/worker-proxy` alone.
 */

export { type OwnBytes, openBytes, openPipe } from "./base/bytes.js";
export { hashOf } from "./base/hash.js";
export { logError } from "./base/log-error.js";
export { limited, within } from "./base/time.js";
export { isSame, lettersOf, MARK, ownId, signatureOf, tenancyOf } from "./checks/ids.js";
export { isFile, isPublic } from "./checks/media.js";
export { checkOrigin, corsHeadersOf, preflight } from "./checks/origin.js";
export { find, type Match, matchFor, type Route } from "./checks/path.js";
export { checkRate } from "./checks/rate.js";
export { userOf } from "./checks/sign-in.js";
export { readBody } from "./checks/size.js";
export { checkedType } from "./gateway/answer.js";
export { type Call, openCall } from "./gateway/call.js";
export type { Account, Paid, StreamEnd } from "./gateway/exchange.js";
export { holdsKey, passedHeadersOf } from "./gateway/key.js";
export { markKept } from "./gateway/marked.js";
export {
  JSON_CHARACTERS,
  outcomeOf,
  parsed,
  readText,
  refusalOf,
  usageOf,
} from "./gateway/read-json.js";
export { type Asked, ask, type Gateway, isUnconnected } from "./gateway/request.js";
export { openWay, type Way } from "./gateway/way.js";
export { type InnerWay, innerWay, serverOf } from "./inside.js";
export { readAnswer } from "./reading/relay.js";
export { openAccount } from "./reading/reservation.js";
export { isCredential, logCause, notifyOf } from "./refusals/log.js";
export { ensure, readBinding, readOption } from "./refusals/read-option.js";
export { decided, exhausted, misconfigured, Refusal, refusalIn, tooMany } from "./refusals/refusal.js";
export { refuse } from "./refusals/refuse.js";
export { openReport } from "./refusals/report.js";
export { type Details, errorBody, textOf } from "./refusals/texts.js";
export { type Server, serverIn } from "./server.js";
export { checkedOptions } from "./settings.js";
