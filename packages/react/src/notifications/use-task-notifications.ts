import { useSyncExternalStore } from "react";
import { useClient } from "../provider.js";
import { useLatest } from "../use-latest.js";
import { useNotedOptions } from "../use-noted-options.js";
import {
  createTaskNotifications,
  initialState,
  type TaskNotificationOptions,
  type TaskNotificationState,
  type TaskNotifications,
} from "./task-notifications.js";

/** Result of `useTaskNotifications`: the state, and its verbs, which keep their identity. */
export interface UseTaskNotificationsResult
  extends TaskNotificationState,
    Pick<TaskNotifications, "enable" | "disable"> {}

/**
 * Notifies the user when a video task has ended: by Web Push, also when no tab is open, where the browser and the proxy
 * have it; else while a tab is open. Nothing is asked before `enable`, which belongs into the handler of a click. The
 * choice is kept, and the subscription is renewed at each load of the page.
 *
 * Needs a proxy with `webPush` of `@sluice/durable/push`, and a service worker that shows the pushes.
 *
 * @throws {ConfigurationError} outside a `GatewayProvider`
 * @example
 * ```tsx
 * function NotifyMe() {
 *   const { isSupported, isEnabled, permission, enable, disable } = useTaskNotifications({ storage });
 *   if (!isSupported) return null;
 *   if (permission === "denied") return <p>Your browser blocks notifications of this page.</p>;
 *   return (
 *     <button type="button" onClick={() => void (isEnabled ? disable() : enable())}>
 *       {isEnabled ? "Stop notifications" : "Notify me"}
 *     </button>
 *   );
 * }
 * ```
 */
export function useTaskNotifications(options: TaskNotificationOptions = {}): UseTaskNotificationsResult {
  useNotedOptions("useTaskNotifications", options);
  const client = useClient();
  const store = useLatest(options, createTaskNotifications).storeOf(client);
  const state = useSyncExternalStore(store.subscribe, store.getSnapshot, () => initialState);
  return { ...state, enable: store.enable, disable: store.disable };
}
