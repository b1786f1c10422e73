export * from "@sluice/stores";
export { getHookStores, type HookStore, type HookStoreList, type HookStores } from "./hook-stores.js";
export { GatewayProvider, useClient } from "./provider.js";
export { type UseAssetOptions, type UseAssetResult, useAsset } from "./use-asset.js";
export { useChatMessage, useChatStatus } from "./use-chat-parts.js";
export { type UseChatStreamOptions, type UseChatStreamResult, useChatStream } from "./use-chat-stream.js";
export { type UseImagesOptions, type UseImagesResult, useImages } from "./use-images.js";
export { useStore } from "./use-store.js";
export {
  type UseVideoTaskOptions,
  type UseVideoTaskResult,
  type UseVideoTasksOptions,
  type UseVideoTasksResult,
  useVideoTask,
  useVideoTasks,
} from "./use-video-task.js";
