"use client";
export {
  GatewayProvider,
  useAsset,
  useBatch,
  useChatMessage,
  useChatStatus,
  useChatStream,
  useClient,
  useImages,
  useStore,
  useVideoTask,
  useVideoTasks,
} from "../index.js";
