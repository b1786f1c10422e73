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
export { hashToId } from "../base/equality.js";
export { isolate } from "../base/isolate.js";
export { noteMistake, noteOptions } from "../base/note-options.js";
export { createRandomId } from "../base/random-id.js";
export { createOptionsReader, createStore } from "../base/store.js";
export { isImageURL } from "../chat/protocol/image-url.js";
export type { ChatParams, SharedChatParams } from "../chat/protocol/schema.js";
export { readStoredChat } from "../chat/read-stored.js";
export { assertImageRequest } from "../images/schema.js";
export type { TaskKind } from "../tasks/define-task.js";
export { isCreatePath } from "../transport/create-path.js";
export { isRecord, parseJSON } from "../transport/error-response.js";
export { canReuseKey, getDelivery } from "../transport/failure.js";
export { canReplay } from "../transport/fetch-features.js";
export { openCall } from "../transport/open-call.js";
export { billOnce } from "../transport/repeat-stored.js";
export { sendRequest } from "../transport/send-request.js";
export { chatModels } from "../types/chat-models.js";
export { describeThrown, toError } from "../types/errors.js";
export { assertVideoRequest } from "../videos/schema/request.js";
export { videos } from "../videos/watch.js";
