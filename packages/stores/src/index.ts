// Chat

export type { ChatState, ChatStatus, ChatStore, PendingAction } from "./chat/chat-store.js";
export type {
  ChatMessage,
  ChatNode,
  ChatToolCall,
  ChatTurn,
} from "./chat/message.js";
export type { ChatStoreOptions } from "./chat/options.js";
export { type ChatRunner, customRunner, type TurnRunner } from "./chat/runner.js";
export { createChatStore } from "./chat/store.js";

// Conversations

export {
  type ConversationList,
  type ConversationListOptions,
  createConversationList,
} from "./conversations/list.js";
export type { ConversationListState } from "./conversations/listing.js";
export type { Conversation } from "./conversations/records.js";

// Tasks and images

export type { AssetState, AssetStoreOptions } from "./assets/store.js";
export { type AssetStore, createAssetStore } from "./assets/store.js";
export type { ImageState, ImageStoreOptions } from "./images/state.js";
export { createImageStore, type ImageStore } from "./images/store.js";
export type { Presence } from "./tasks/page-presence.js";
export { createVideoTaskList, listVideoTasks, type VideoTaskList } from "./videos/list.js";
export type {
  VideoTaskEntry,
  VideoTaskListOptions,
  VideoTaskState,
  VideoTaskStoreOptions,
} from "./videos/state.js";
export { createVideoTaskStore, type VideoTaskStore } from "./videos/store.js";

// Receipts

export { formatReceiptsCSV } from "./receipts/csv.js";
export type { Receipt } from "./receipts/receipt.js";
export { listReceipts, recordReceipts } from "./receipts/record.js";

// Errors

export { describeError, type ErrorDescription } from "./errors/describe-error.js";
export { type ErrorMessages, errorMessages } from "./errors/error-messages.js";

// Storages

export {
  type ChatStorage,
  customStorage,
  indexedDBStorage,
  memoryStorage,
  webStorage,
} from "./chat/storages.js";
export { signOut } from "./storage/sign-out.js";
