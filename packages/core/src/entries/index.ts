// Bundlers keep the order of these parts, and the order changes the gzipped size: run `check size` after a change.

// The client

export type { Clock } from "../base/clock.js";
export type { StandardSchema } from "../base/standard-schema.js";
export type { Store } from "../base/store.js";
export {
  type Client,
  type ClientOptions,
  createClient,
  type StreamResumption,
  subscribeToEvents,
} from "../client.js";
export type { MediaUploader } from "../media-uploader.js";
export { retryNow } from "../transport/pauses.js";
export type { RequestOptions } from "../transport/send.js";
export { standardFetch } from "../transport/standard-fetch.js";
export type { CallInfo, ClientEvent } from "../types/events.js";

// Errors

export {
  type AnyGatewayError,
  APIError,
  type Billing,
  ConfigurationError,
  ConnectionError,
  GatewayError,
  type Issue,
  isGatewayError,
  type Outcome,
  ResponseError,
  StreamError,
  TaskError,
  TimeoutError,
  ValidationError,
} from "../types/errors.js";

// Images

export { type GeneratedImage, generateImages, type ImageResult } from "../images/generate.js";
export type { ImageRequest } from "../images/schema.js";

// Videos

export type {
  SucceededVideoTask,
  VideoTask,
  VideoTaskHandle,
} from "../types/video-task.js";
export { createVideoTask } from "../videos/create.js";
export { parseVideoTask } from "../videos/read-task.js";
export type { VideoRequest } from "../videos/schema/request.js";
export {
  getVideoTask,
  watchVideoTask,
} from "../videos/watch.js";

// Assets

export { createAsset } from "../assets/create.js";
export type { AssetRequest } from "../assets/schema.js";
export { getAsset, watchAsset } from "../assets/watch.js";
export type { TaskWatch, WatchOptions } from "../tasks/define-task.js";
export type { ActiveAsset, Asset, AssetHandle } from "../types/asset.js";

// Chat

export { completeChat } from "../chat/complete.js";
export { withJSONSchema } from "../chat/json-schema.js";
export { applyDelta } from "../chat/protocol/accumulate.js";
export type { AssistantMessage, ChatDelta, ChatResult, ChatUsage } from "../chat/protocol/delta.js";
export type { ChatRequestMessage } from "../chat/protocol/message-schema.js";
export type { ChatRequest } from "../chat/protocol/schema.js";
export { repairMessages } from "../chat/repair.js";
export { resumeChat, streamResumption } from "../chat/resume.js";
export { toResponse } from "../chat/sse-response.js";
export { type ChatStream, streamChat } from "../chat/stream.js";
export { defineTool, type Tool, type ToolContext } from "../chat/tools.js";
export type { ChatModel } from "../types/chat-models.js";
export type { ImageModel, VideoModel } from "../types/media-models.js";

// Storages

export type { RecordStorage, StorageLock, StorageStatus } from "../storage.js";
