export type { NotificationWords } from "./page-notices.js";
export type {
  TaskNotificationOptions,
  TaskNotificationState,
} from "./task-notifications.js";
export { type UseTaskNotificationsResult, useTaskNotifications } from "./use-task-notifications.js";
