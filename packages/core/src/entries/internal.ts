// Entry for the other packages of this repository. Apps must not import it: it may change in any version.

export {
  delayRenewal,
  type ExpiringLink,
  getRenewalTime as linkRenewalAt,
} from "../archive/expiring-link.js";
export { checkAssetRequest } from "../assets/schema.js";
export { assertLookup, assets } from "../assets/watch.js";
export { type Backoff, createBackoff } from "../base/backoff.js";
export {
  addAbortListener,
  awaitWithin,
  callAfter,
  openSpan,
  rejectOnAbort,
  systemClock,
  toIdleClock,
  yieldToHost,
} from "../base/clock.js";
export { formatSuggestion } from "../base/did-you-mean.js";
export { createFingerprint, hashToId, isEqual } from "../base/equality.js";
export { isolate } from "../base/isolate.js";
export { createListeners, type Listeners } from "../base/listeners.js";
export {
  assertClient,
  noteMistake,
  noteModel,
  noteOptions,
  noteReplacedClient,
} from "../base/note-options.js";
export type { WithOptions } from "../base/option-names.js";
export type { Absence } from "../base/page-activity.js";
export { createPagePresence } from "../base/page-activity.js";
export {
  isRefusal,
  markRefusal,
  type Reporter,
  reportLimit,
  reportStorageFailure,
} from "../base/platform-limits.js";
export { createRandomId, createRandomWords, OWN } from "../base/random-id.js";
export { checkBySchema, formatIssues } from "../base/standard-schema.js";
export {
  createReader,
  createRegistry,
  createStore,
  memoizeLast,
  type Registry,
  type StoreControl,
} from "../base/store.js";
export { addUserPrefix, formatUserPrefix, type Scoped } from "../base/user-prefix.js";
export type { AnyRequest } from "../base/validate.js";
export { assertAccepted, type RequestFor } from "../base/validate.js";
export { isHTTP, isPublicHTTP } from "../base/web-address.js";
export { writeJSONSchema } from "../base/write-json-schema.js";
export { notResumed } from "../chat/not-resumed.js";
export { emptyMessage } from "../chat/protocol/accumulate.js";
export type { ChatTiming } from "../chat/protocol/delta.js";
export { isImageURL } from "../chat/protocol/image-url.js";
export type { ToolCall } from "../chat/protocol/message-schema.js";
export { isErrorEvent } from "../chat/protocol/reported-error.js";
export {
  type ChatParams,
  type ChatRequests,
  checkChatRequest,
  type SharedChatParams,
} from "../chat/protocol/schema.js";
export { createStrayLines } from "../chat/protocol/stray-lines.js";
export { createStreamPath } from "../chat/protocol/stream-path.js";
export type { ToolDefinition } from "../chat/protocol/tool-schema.js";
export { createToolMessage, formatToolError } from "../chat/repair.js";
export type { ChatResumeOptions } from "../chat/resume.js";
export { openStream } from "../chat/stream.js";
export type { ThreadFile } from "../chat/tools.js";
export type { SharedDevices, SyncStatus } from "../devices.js";
export { findSignedType } from "../files/signatures.js";
export { getUploader } from "../files/uploader.js";
export type { FailedImage } from "../images/generate.js";
export { checkImageRequest, type ImageRequests } from "../images/schema.js";
export type { Snapshot, TaskHandle, TaskKind } from "../tasks/define-task.js";
export type { PollEvent } from "../tasks/poll.js";
export { findInterval, type Interval } from "../tasks/poll.js";
export { cancelWith, trackBilling } from "../transport/billing.js";
export { excerpt, isRecord, parseJSON } from "../transport/error-response.js";
export { createEventParser, type ServerSentEvent } from "../transport/event-stream.js";
export {
  canReuseKey,
  findDelivery,
  isAbsent,
  isClosedRoute,
  toConnectionError,
} from "../transport/failure.js";
export { fetchOffers, hasOffer, isRemembered } from "../transport/fetch-offers.js";
export { parseOffers } from "../transport/offers.js";
export { createBodyReader } from "../transport/read-body.js";
export { readRefusal } from "../transport/refusal.js";
export { requestOnce } from "../transport/request-once.js";
export { resolveAddress } from "../transport/resolve-address.js";
export type { Connection } from "../transport/send.js";
export { parseVideoTask } from "../videos/read-task.js";
export { checkVideoRequest, type VideoRequests } from "../videos/schema/request.js";
export { dismissVideoTask, videos } from "../videos/watch.js";
export type { AssetLookup } from "../vocabulary/asset.js";
export { chatModels, findChatModel } from "../vocabulary/chat-models.js";
export { addDetails, describeThrown, readDelivery, toError } from "../vocabulary/errors.js";
export type { ToolRun } from "../vocabulary/events.js";
export { findImageModel, findVideoModel, imageModels, videoModels } from "../vocabulary/media-models.js";
