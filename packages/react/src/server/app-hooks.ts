"use client";
export {
  useAttachments,
  useConversationSearch,
  useConversations,
  useDraft,
} from "../app/index.js";
