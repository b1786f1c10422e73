"use client";
export {
  useAttachments,
  useConversationSearch,
  useConversations,
  useDraft,
  useLeaveWarning,
} from "../app/index.js";
