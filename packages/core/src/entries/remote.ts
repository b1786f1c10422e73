export type { RecordRefusal } from "../remote/collections.js";
export {
  type ConversationAccess,
  type ConversationLink,
  type ConversationMember,
  type ConversationMembers,
  createConversationLink,
  type JoinedConversation,
  joinConversation,
  listConversationMembers,
  type NewConversationLink,
  removeConversationLink,
  removeConversationMember,
} from "../remote/sharing.js";
export { type RemoteStorage, type RemoteStorageOptions, remoteStorage } from "../remote/storage.js";
