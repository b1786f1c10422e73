export { attachmentWords } from "../app/attachments.js";
export { describeError } from "../app/describe-error.js";
export { errorWords } from "../app/error-words.js";
export {
  useAttachments,
  useConversationSearch,
  useConversations,
  useDraft,
} from "./app-hooks.js";
