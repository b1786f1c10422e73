export { accumulate, emptyMessage } from "./chat/accumulate.js";
export { completeChat } from "./chat/complete.js";
export type { ChatDelta, ChatMessage, ChatOutcome, ChatUsage } from "./chat/delta.js";
export {
  type AlphaChatRequest,
  type ChatRequest,
  type ChatRequestMessage,
  checkChatRequest,
  type DeltaChatRequest,
  type GammaChatRequest,
  type ToolCall,
  type ToolDefinition,
} from "./chat/schema.js";
export {
  type ChatParams,
  type ChatState,
  type ChatStatus,
  type ChatStore,
  type ChatStoreOptions,
  createChatStore,
  type ThreadMessage,
} from "./chat/store.js";
export { type ChatStream, streamChat } from "./chat/stream.js";
export type { ChatAlternative, ChatTiming, ChatToolCall, ChatTurn } from "./chat/turn.js";
export { type ClientOptions, createClient } from "./client.js";
export { type Clock, systemClock } from "./clock.js";
export {
  type AnyGatewayError,
  APIError,
  ConfigurationError,
  ConnectionError,
  GatewayError,
  type GatewayErrorName,
  type Issue,
  isGatewayError,
  type Outcome,
  ResponseError,
  redact,
  StreamError,
  type StreamFailure,
  TimeoutError,
  type TimeoutPhase,
  ValidationError,
} from "./errors.js";
export type { ClientEvent } from "./events.js";
export type { Client, RequestOptions, RetryOptions, Timeouts } from "./http.js";
export { type ChatModel, chatModels } from "./models.js";
export { createRegistry, createStore, type Registry, type Store, type StoreControl } from "./store.js";
export { type UncheckedRequest, unchecked } from "./validate.js";
