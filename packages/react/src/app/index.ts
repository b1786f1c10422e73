export {
  type Attachment,
  type AttachmentProblem,
  type AttachmentProblemKind,
  type AttachmentState,
  type AttachmentWords,
  attachmentWords,
  type UseAttachmentsOptions,
} from "./attachments.js";
export { type ChatModelInfo, chatModelInfo, chatTargetOf } from "./chat-form.js";
export type { ConversationStatus } from "./conversation-activity.js";
export type { ConversationListState } from "./conversation-listing.js";
export type { Conversation } from "./conversation-record.js";
export type { ConversationMatch, SearchOptions } from "./conversation-search.js";
export {
  type DescribeErrorOptions,
  describeError,
  type ErrorAction,
  type ErrorDescription,
} from "./describe-error.js";
export {
  type DownloadOptions,
  type DownloadResult,
  downloadMedia,
  type ShareResult,
  shareFile,
  shareMedia,
} from "./download.js";
export { type ErrorKind, type ErrorText, type ErrorWords, errorWords } from "./error-words.js";
export type {
  ChoiceField,
  FieldChoice,
  FormField,
  FormOptions,
  FormValue,
  FormValues,
  ListField,
  MediaField,
  MediaSource,
  NumberField,
  SwitchField,
  TextField,
} from "./form-fields.js";
export { type FieldName, type FieldText, type FormWords, formWords } from "./form-words.js";
export { type ImageForm, imageForm, imageRequestOf } from "./image-form.js";
export { createTextBlocks } from "./text-blocks.js";
export {
  type AttachmentDropProps,
  type AttachmentInputProps,
  type UseAttachmentsResult,
  useAttachments,
} from "./use-attachments.js";
export {
  type UseConversationSearchResult,
  type UseConversationsOptions,
  type UseConversationsResult,
  useConversationSearch,
  useConversations,
} from "./use-conversations.js";
export { type UseDraftOptions, type UseDraftResult, useDraft } from "./use-draft.js";
export { useLeaveWarning } from "./use-leave-warning.js";
export { type VideoForm, videoForm, videoRequestOf } from "./video-form.js";
export type { VideoMode } from "./video-media.js";
