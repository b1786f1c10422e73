export {
  type Attachment,
  type AttachmentProblem,
  type AttachmentProblemKind,
  type AttachmentState,
  type AttachmentWords,
  attachmentWords,
  type UseAttachmentsOptions,
} from "./attachments.js";
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
export { type ErrorKind, type ErrorText, type ErrorWords, errorWords } from "./error-words.js";
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
