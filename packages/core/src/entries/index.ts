// Bundlers keep the order of these parts, and the order changes the gzipped size: run `check size` after a change.

// The client

export type { Clock } from "../base/clock.js";
export type { StandardSchema } from "../base/standard-schema.js";
export type { Store } from "../base/store.js";
export { type UncheckedRequest, unchecked } from "../base/validate.js";
export { type Client, type ClientOptions, createClient } from "../client.js";
export type { MediaUploader } from "../media-uploader.js";
export { subscribeToEvents } from "../subscribe-to-events.js";
export { retryNow } from "../transport/pauses.js";
export type { RequestOptions } from "../transport/send.js";
export type { ClientEvent, RequestIdentity } from "../vocabulary/events.js";

// Errors

export {
  type AnyGatewayError,
  APIError,
  AssetFailedError,
  ConfigurationError,
  ConnectionError,
  GatewayError,
  type Issue,
  isGatewayError,
  type Outcome,
  ResponseError,
  redact,
  StreamError,
  TaskExpiredError,
  TaskFailedError,
  TimeoutError,
  ValidationError,
} from "../vocabulary/errors.js";

// Images

export {
  type FailedImage,
  type GeneratedImage,
  generateImages,
  type ImageResult,
  type ImageUsage,
} from "../images/generate.js";
export type { ImageStoreOptions } from "../images/options.js";
export type { ImageRequest } from "../images/schema.js";
export type { ImageRequestOf, ImageState, SettledImages } from "../images/state.js";
export { createImageStore, type ImageStore } from "../images/store.js";

// Videos

export { createVideoTask } from "../videos/create.js";
export { createVideoTaskList, listVideoTasks, type VideoTaskList } from "../videos/list.js";
export type {
  VideoTaskCreateOptions,
  VideoTaskListOptions,
  VideoTaskStoreOptions,
} from "../videos/options.js";
export { type VideoTaskQueryOptions, videoTaskQueryOptions } from "../videos/query-options.js";
export { normalizeVideoTask } from "../videos/read-task.js";
export type { VideoRequest } from "../videos/schema/request.js";
export type { VideoTaskEntry, VideoTaskState } from "../videos/state.js";
export { createVideoTaskStore, type VideoTaskStore } from "../videos/store.js";
export {
  getVideoTask,
  type VideoTaskWatchOptions,
  waitForVideoTask,
  watchVideoTask,
} from "../videos/watch.js";
export type {
  SucceededVideoTask,
  VideoTask,
  VideoTaskHandle,
  VideoTaskReference,
} from "../vocabulary/video-task.js";

// Assets

export { createAsset } from "../assets/create.js";
export type { AssetRequest } from "../assets/schema.js";
export type { AssetCreateOptions, AssetState, AssetStoreOptions } from "../assets/store.js";
export { type AssetStore, createAssetStore } from "../assets/store.js";
export { type AssetWatchOptions, getAsset, waitForAsset, watchAsset } from "../assets/watch.js";
export type { ActiveAsset, Asset, AssetHandle, AssetLookup } from "../vocabulary/asset.js";

// Epsilon

export { getEpsilonTask, requestEpsilon } from "../epsilon/epsilon.js";

// Chat

export { completeChat } from "../chat/complete.js";
export type { ImageInput } from "../chat/conversation/attachments.js";
export type { ChatStore, SendOptions } from "../chat/conversation/chat-store.js";
export type { InitialMessage } from "../chat/conversation/initial-messages.js";
export type {
  MessageOutcome,
  ThreadFile,
  ThreadMessage,
  ThreadNode,
  ThreadToolCall,
  ThreadTurn,
  ToolCallState,
} from "../chat/conversation/message.js";
export type { ChatOptionsFor, ChatStoreOptions, ChatTarget } from "../chat/conversation/options.js";
export type { TurnRunner } from "../chat/conversation/runner.js";
export type { ChatState, ChatStatus, PendingAction } from "../chat/conversation/state.js";
export { createChatStore } from "../chat/conversation/store.js";
export { type ChatTool, defineTool } from "../chat/conversation/tools.js";
export type {
  ChatDelta,
  ChatMessage,
  ChatOutcome,
  ChatTiming,
  ChatToolCall,
  ChatTurn,
  ChatUsage,
} from "../chat/protocol/delta.js";
export type { ChatRequestMessage } from "../chat/protocol/message-schema.js";
export type { ChatRequest } from "../chat/protocol/schema.js";
export {
  type ChatResumeOptions,
  resumeChat,
  type StreamResumption,
  streamResumption,
} from "../chat/resume.js";
export { toResponse } from "../chat/sse-response.js";
export { type ChatStream, streamChat } from "../chat/stream.js";

// Stores and storages

export { memoryStorage } from "../storage/memory.js";
export type { RecordStorage, StorageLock } from "../storage/storage.js";
export type { Absence, Presence } from "../tabs/page-activity.js";
export type { PollEvent } from "../tasks/poll.js";
export { indexedDBStorage, repairHistory, webStorage } from "./apart.js";
