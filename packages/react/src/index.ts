export * from "@sluice/stores";
export type { UseAttachmentsOptions } from "./attachments.js";
export { getHookStores } from "./hook-stores.js";
export { GatewayProvider, useClient } from "./provider.js";
export { type UseAssetOptions, type UseAssetResult, useAsset } from "./use-asset.js";
export { type UseAttachmentsResult, useAttachments } from "./use-attachments.js";
export { useChatMessage } from "./use-chat-message.js";
export { type UseChatStreamOptions, type UseChatStreamResult, useChatStream } from "./use-chat-stream.js";
export {
  type UseConversationsOptions,
  type UseConversationsResult,
  useConversations,
} from "./use-conversations.js";
export { type UseImagesOptions, type UseImagesResult, useImages } from "./use-images.js";
export { useStore } from "./use-store.js";
export {
  type UseVideoTaskOptions,
  type UseVideoTaskResult,
  type UseVideoTasksResult,
  useVideoTask,
  useVideoTasks,
} from "./use-video-task.js";
