// Entry for the other packages of this repository. Apps must not import it: it may change in any version.

export { type ExpiringLink, renewalAt as linkRenewalAt, renewedLater } from "../archive/expiring-link.js";
export { checkAssetRequest } from "../assets/schema.js";
export { assertLookup, assets } from "../assets/watch.js";
export { type Backoff, createBackoff } from "../base/backoff.js";
export {
  after,
  idle,
  onAbort,
  openSpan,
  systemClock,
  unlessAborted,
  within,
  yieldToHost,
} from "../base/clock.js";
export { isolate } from "../base/isolate.js";
export { createListeners, type Listeners } from "../base/listeners.js";
export { didYouMean } from "../base/nearest.js";
export {
  assertClient,
  noteMistake,
  noteModel,
  noteOptions,
  noteReplacedClient,
} from "../base/note-options.js";
export type { WithOptions } from "../base/option-names.js";
export type { Absence } from "../base/page-activity.js";
export { pagePresence } from "../base/page-activity.js";
export {
  isRefusal,
  type Reporter,
  refusalOf,
  reportLimit,
  reportStorageFailure,
} from "../base/platform-limits.js";
export { OWN, randomId, randomWords } from "../base/random-id.js";
export { fingerprintOf, idOf, isSame } from "../base/same.js";
export { type Scoped, scoped, userPrefix } from "../base/scope.js";
export { checkBySchema, issuesText } from "../base/standard-schema.js";
export {
  createRegistry,
  createStore,
  forTheSame,
  type Registry,
  readerOf,
  type StoreControl,
} from "../base/store.js";
export type { AnyRequest } from "../base/validate.js";
export { assertAccepted, type RequestFor } from "../base/validate.js";
export { isHTTP, isPublicHTTP } from "../base/web-address.js";
export { jsonSchemaOf } from "../chat/json-schema.js";
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
export { streamPath } from "../chat/protocol/stream-path.js";
export type { ToolDefinition } from "../chat/protocol/tool-schema.js";
export { errorText, toolMessage } from "../chat/repair.js";
export type { ChatResumeOptions } from "../chat/resume.js";
export { openStream } from "../chat/stream.js";
export type { ThreadFile } from "../chat/tools.js";
export type { SharedDevices, SyncStatus } from "../devices.js";
export { signedTypeOf } from "../files/signatures.js";
export { uploaderOf } from "../files/uploader.js";
export type { FailedImage } from "../images/generate.js";
export { checkImageRequest, type ImageRequests } from "../images/schema.js";
export type { Snapshot, TaskHandle, TaskKind } from "../tasks/define-task.js";
export type { PollEvent } from "../tasks/poll.js";
export { type Interval, intervalAfter } from "../tasks/poll.js";
export { askOffers, hasOffer, isRemembered } from "../transport/ask-offers.js";
export { endsUnlessSent, trackBilling } from "../transport/billing.js";
export { excerpt, isRecord, parseJSON } from "../transport/error-response.js";
export { createEventParser, type ServerSentEvent } from "../transport/event-stream.js";
export { connectionError, deliveryOf, isAbsent, isClosedRoute, keepsKey } from "../transport/failure.js";
export { offersIn } from "../transport/offers.js";
export { bodyReaderOf, createBytesOf } from "../transport/read-body.js";
export { errorOf } from "../transport/refusal.js";
export { requestOnce } from "../transport/request-once.js";
export { resolveAddress } from "../transport/resolve-address.js";
export type { Connection } from "../transport/send.js";
export { parseVideoTask } from "../videos/read-task.js";
export { checkVideoRequest, type VideoRequests } from "../videos/schema/request.js";
export { dismissVideoTask, videos } from "../videos/watch.js";
export type { AssetLookup } from "../vocabulary/asset.js";
export { chatModelOf, chatModels } from "../vocabulary/chat-models.js";
export { asError, describeThrown, readDelivery, withDetails } from "../vocabulary/errors.js";
export type { ToolRun } from "../vocabulary/events.js";
export { imageModelOf, imageModels, videoModelOf, videoModels } from "../vocabulary/media-models.js";
