"use client";
export {
  GatewayProvider,
  getHookStores,
  useAsset,
  useBatch,
  useChatMessage,
  useChatStatus,
  useChatStream,
  useClient,
  useImages,
  useUpload,
  useVideoTask,
  useVideoTasks,
} from "../index.js";
