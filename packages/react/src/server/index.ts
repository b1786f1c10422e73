"use client";
export {
  GatewayProvider,
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
