export { attachmentWords } from "../app/attachments.js";
export { chatModelInfo, chatTargetOf } from "../app/chat-form.js";
export { describeError } from "../app/describe-error.js";
export { downloadMedia, shareFile, shareMedia } from "../app/download.js";
export { errorWords } from "../app/error-words.js";
export { formWords } from "../app/form-words.js";
export { imageForm, imageRequestOf } from "../app/image-form.js";
export { createTextBlocks } from "../app/text-blocks.js";
export { videoForm, videoRequestOf } from "../app/video-form.js";
export {
  useAttachments,
  useConversationSearch,
  useConversations,
  useDraft,
  useLeaveWarning,
} from "./app-hooks.js";
