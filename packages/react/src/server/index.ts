"use client";
export {
  GatewayProvider,
  getHookStores,
  useAsset,
  useChatMessage,
  useChatStatus,
  useChatStream,
  useClient,
  useImages,
  useStore,
  useUpload,
  useVideoTask,
  useVideoTasks,
} from "../index.js";
