/*
 * For authors of add-ons: a storage, a store with its hook, a bridge to another library, a request to another path of the
 * proxy. The packages of this repository use the same names, so a third-party add-on can do the same. Apps do not need
 * them. The names are as stable as those of `@sluice/core`.
 */

export { assertAssetRequest } from "../assets/schema.js";
export { assets } from "../assets/watch.js";
export { createBackoff } from "../base/backoff.js";
export { awaitWithin, callAfter, openSpan, rejectOnAbort, systemClock, toIdleClock } from "../base/clock.js";
export { formatSuggestion } from "../base/did-you-mean.js";
export { createFingerprint, hashToId } from "../base/equality.js";
export { isolate } from "../base/isolate.js";
export { createListeners } from "../base/listeners.js";
export { assertClient, noteMistake, noteOptions } from "../base/note-options.js";
export { createPagePresence } from "../base/page-activity.js";
export { createRandomId } from "../base/random-id.js";
export { checkBySchema } from "../base/standard-schema.js";
export { createOptionsReader, createStore, type StoreControl } from "../base/store.js";
export type { RequestFor } from "../base/validate.js";
export { writeJSONSchema } from "../base/write-json-schema.js";
export { isImageURL } from "../chat/protocol/image-url.js";
export type { ChatParams, SharedChatParams } from "../chat/protocol/schema.js";
export { readStoredChat } from "../chat/read-stored.js";
export { assertImageRequest } from "../images/schema.js";
export type { TaskKind } from "../tasks/define-task.js";
export { createRequest, isCreatePath } from "../transport/create-request.js";
export { isRecord, parseJSON } from "../transport/error-response.js";
export { canReuseKey, getDelivery, isClosedRoute, toConnectionError } from "../transport/failure.js";
export { fetchFeatures, isRemembered } from "../transport/fetch-features.js";
export { openCall } from "../transport/open-call.js";
export { readRefusal } from "../transport/read-refusal.js";
export { repeatIfStored } from "../transport/repeat-stored.js";
export { requestOnce } from "../transport/request-once.js";
export { chatModels } from "../types/chat-models.js";
export { describeThrown, toError } from "../types/errors.js";
export { assertVideoRequest } from "../videos/schema/request.js";
export { videos } from "../videos/watch.js";
