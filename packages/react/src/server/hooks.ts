"use client";
export {
  GatewayProvider,
  getHookStores,
  useAsset,
  useAttachments,
  useChatMessage,
  useChatStream,
  useClient,
  useConversations,
  useImages,
  useStore,
  useVideoTask,
  useVideoTasks,
} from "../index.js";
