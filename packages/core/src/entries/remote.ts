export type { RecordRefusal } from "../remote/collections.js";
export {
  createSchedule,
  listSchedules,
  removeSchedule,
  type Schedule,
  type ScheduleRequest,
  type ScheduleStart,
  type ScheduleTime,
  type ScheduleWork,
} from "../remote/schedules.js";
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
