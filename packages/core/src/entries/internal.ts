// Entry for the other packages of this repository. Apps must not import it: it may change in any version.

export { type Backoff, createBackoff } from "../base/backoff.js";
export { after, idle, onAbort, openSpan, systemClock, unlessAborted, within } from "../base/clock.js";
export { isolate } from "../base/isolate.js";
export { createListeners, type Listeners } from "../base/listeners.js";
export { didYouMean } from "../base/nearest.js";
export { assertClient, noteOptions, noteReplacedClient } from "../base/note-options.js";
export type { WithOptions } from "../base/option-names.js";
export { reportStorageFailure } from "../base/platform-limits.js";
export { unknownProxyOptions } from "../base/proxy-option-names.js";
export { OWN, randomId, randomWords } from "../base/random-id.js";
export { fingerprintOf, idOf, isSame } from "../base/same.js";
export { type Scoped, scoped, scopeName } from "../base/scope.js";
export { createRegistry, createStore, type Registry, readerOf } from "../base/store.js";
export { isPublicHTTP } from "../base/web-address.js";
export type { Chat, ReadOptions } from "../chat/conversation/chat.js";
export {
  addQuestion,
  addVersion,
  answersAround,
  type Place,
  placeOfVersion,
} from "../chat/conversation/insertion-point.js";
export { type JoinedRecord, joinMessages, joinRecords } from "../chat/conversation/join-records.js";
export { isOpen, isPending, QUEUED } from "../chat/conversation/message.js";
export type { Thread } from "../chat/conversation/message-tree.js";
export { notSent } from "../chat/conversation/not-sent.js";
export type { WhenBusy } from "../chat/conversation/options.js";
export type { OtherDevices } from "../chat/conversation/persistence/other-devices.js";
export { type KeptThread, report } from "../chat/conversation/persistence/parts.js";
export type { WorkLocks } from "../chat/conversation/persistence/work-locks.js";
export type { OpenDevices } from "../chat/conversation/persistence.js";
export type { PlacedMessage } from "../chat/conversation/placement.js";
export type { QueuedMessage } from "../chat/conversation/queue.js";
export { isInFlight, nodeOf, stoppedElsewhere } from "../chat/conversation/records.js";
export type { OpenTurnRunner } from "../chat/conversation/runner.js";
export { isBetweenSteps, isServing, stopSignalOf } from "../chat/conversation/server-work.js";
export { lastMessage } from "../chat/conversation/shown.js";
export { stopped } from "../chat/conversation/stop.js";
export { checkedInput, inputOf } from "../chat/conversation/tool-input.js";
export { BUSY } from "../chat/conversation/turns.js";
export { accumulate, emptyMessage } from "../chat/protocol/accumulate.js";
export type { ImagePart, TextPart } from "../chat/protocol/message-schema.js";
export { isErrorEvent } from "../chat/protocol/reported-error.js";
export { streamPath } from "../chat/protocol/request.js";
export { createStrayLines } from "../chat/protocol/stray-lines.js";
export type { ToolDefinition } from "../chat/protocol/tool-schema.js";
export { signedTypeOf } from "../files/signatures.js";
export { uploaderOf } from "../files/uploader.js";
export { storageOf } from "../storage/client-storage.js";
export type { SharedDevices, SyncStatus } from "../storage/devices.js";
export { onForget } from "../storage/in-use.js";
export { openIndexedDBStorage } from "../storage/indexed-db.js";
export { createRecordWriter } from "../storage/record-writer.js";
export { isWithin, recordsOf, textsOf } from "../storage/texts.js";
export { readWhenPossible } from "../storage/wait.js";
export { hasLocks, isLocked, withFreeLock, withLock } from "../tabs/locks.js";
export { pagePresence } from "../tabs/page-activity.js";
export { askOffers, hasOffer, isRemembered } from "../transport/ask-offers.js";
export { endsUnlessSent } from "../transport/billing-outcome.js";
export { excerpt, isRecord, parseJSON } from "../transport/error-response.js";
export { createEventParser, type ServerSentEvent } from "../transport/event-stream.js";
export { connectionError, isAbsent, isClosedRoute, keepsKey, outcomeOf } from "../transport/failure.js";
export { offersIn } from "../transport/offers.js";
export { bodyReaderOf, createBytesOf } from "../transport/read-body.js";
export { errorOf } from "../transport/refusal.js";
export { requestOnce } from "../transport/request-once.js";
export { addressOf } from "../transport/send.js";
export { normalizeVideoTask } from "../videos/read-task.js";
export type { BetaVideoParameters } from "../videos/schema/beta.js";
export { chatModelOf } from "../vocabulary/chat-models.js";
export { asError, describeThrown } from "../vocabulary/errors.js";
export type { CallUsage } from "../vocabulary/events.js";
export { imageModelOf, videoModelOf } from "../vocabulary/media-models.js";
