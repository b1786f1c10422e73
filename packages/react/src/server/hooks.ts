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
  useVideoTask,
  useVideoTasks,
} from "../index.js";
