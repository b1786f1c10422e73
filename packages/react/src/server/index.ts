"use client";
export {
  GatewayProvider,
  useAsset,
  useChatMessage,
  useChatStatus,
  useChatStream,
  useClient,
  useImages,
  useUpload,
  useVideoTask,
  useVideoTasks,
} from "../index.js";
