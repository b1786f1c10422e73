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
  useUpload,
  useVideoTask,
  useVideoTasks,
} from "../index.js";
