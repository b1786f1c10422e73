/*
 * The functions that `@sluice/durable` shares with the proxy, and nobody else: their shapes may change with any release.
 * A part of your own needs the types of `@sluice/worker-proxy` alone.
 */

export { readBody } from "./gates/body.js";
export { checkOrigin, checkRate, corsHeadersOf, userOf } from "./gates/caller.js";
export { find, type Match, matchFor, type Route } from "./gates/path.js";
export {
  isFile,
  isPublic,
  isSame,
  lettersOf,
  MARK,
  ownId,
  signatureOf,
  tenancyOf,
} from "./gates/references.js";
export { openAccount } from "./gateway/additions.js";
export { checkedType, passedHeadersOf } from "./gateway/answer.js";
export { type OwnBytes, openBytes, openPipe } from "./gateway/bytes.js";
export { type Call, limited, openCall, within } from "./gateway/call.js";
export { markKept } from "./gateway/kept.js";
export { openKeyWatch } from "./gateway/keys.js";
export {
  isUnconnected,
  JSON_CHARACTERS,
  outcomeOf,
  parsed,
  readText,
  refusalOf,
  STALL_MS,
  usageOf,
} from "./gateway/read-answer.js";
export { readAnswer, type StreamEnd } from "./gateway/relay.js";
export { type Account, type Asked, ask, type Paid } from "./gateway/request.js";
export { hashOf } from "./hash.js";
export { notifyOf } from "./job-event.js";
export { isCredential, logCause, preflight, refuse } from "./own-answers.js";
export {
  decided,
  ensure,
  exhausted,
  misconfigured,
  Refusal,
  readBinding,
  readOption,
  refusalIn,
  tooMany,
} from "./refusal.js";
export { type Details, errorBody, textOf } from "./refusals.js";
export { logError, openReport } from "./report.js";
export { groupsWith } from "./routes.js";
export { checkedOptions, type Settings, setupOf } from "./settings.js";
