/*
 * The functions that `@sluice/durable` shares with the proxy, and nobody else: their shapes may change with any release.
 * A part of your own needs the types of `@sluice/worker-proxy` alone.
 */

export { type OwnBytes, openBytes, openPipe } from "./base/bytes.js";
export { limited, within } from "./base/time.js";
export { isFile, isPublic } from "./gates/addresses.js";
export { readBody } from "./gates/body.js";
export { type Account, openAccount, type Paid } from "./gates/budget.js";
export { isSame, lettersOf, MARK, ownId, signatureOf, tenancyOf } from "./gates/ids.js";
export { checkOrigin, corsHeadersOf } from "./gates/origin.js";
export { find, type Match, matchFor, type Route } from "./gates/path.js";
export { checkRate } from "./gates/rate.js";
export { userOf } from "./gates/user.js";
export { checkedType } from "./gateway/answer.js";
export { type Call, openCall } from "./gateway/call.js";
export { markKept } from "./gateway/kept.js";
export { openKeyWatch } from "./gateway/keys.js";
export { passedHeadersOf } from "./gateway/passed-headers.js";
export {
  JSON_CHARACTERS,
  outcomeOf,
  parsed,
  readText,
  refusalOf,
  STALL_MS,
  usageOf,
} from "./gateway/read-answer.js";
export { readAnswer, type StreamEnd } from "./gateway/relay.js";
export { type Asked, ask, type Gateway } from "./gateway/request.js";
export { isUnconnected } from "./gateway/unanswered.js";
export { hashOf } from "./hash.js";
export { type InnerWay, innerWay } from "./inside.js";
export { notifyOf } from "./job-event.js";
export { ensure, readBinding, readOption } from "./read-option.js";
export { preflight, refuse } from "./refusals/answers.js";
export { isCredential, logCause } from "./refusals/log.js";
export { decided, exhausted, misconfigured, Refusal, refusalIn, tooMany } from "./refusals/refusal.js";
export { type Details, errorBody, textOf } from "./refusals/texts.js";
export { logError, openReport } from "./report.js";
export { groupsWith } from "./route-lists.js";
export { checkedOptions } from "./settings.js";
export { openWay, type Way } from "./way.js";
