import type { Client, VideoTaskStoreOptions } from "@sluice/core";
import { createStore, onForget, scoped, systemClock, within } from "@sluice/core/internal";
import { type NotificationWords, openFallback } from "./page-notices.js";
import { isPushSupported, subscribePush, unsubscribePush } from "./push.js";

/** Options of `useTaskNotifications`. */
export interface TaskNotificationOptions extends Pick<VideoTaskStoreOptions, "storage"> {
  /** Address of the service worker that shows pushes, on this origin. @default "/notifications.js" */
  readonly worker?: string | undefined;
  /** Words of notifications without push. @default "Your video is ready", "Your video failed" */
  readonly words?: NotificationWords | undefined;
}

/** State of notifications in this browser. */
export interface TaskNotificationState {
  /** The browser's permission; `unsupported` where it has no notifications. */
  readonly permission: NotificationPermission | "unsupported";
  /** True where this browser can show notifications. */
  readonly isSupported: boolean;
  /** True after `enable`, until `disable`, also after a reload. */
  readonly isEnabled: boolean;
  /**
   * `push`: also when no tab is open; `page`: while a tab is open, where there is no push or it has not answered in 5 s.
   * Undefined until that is known.
   */
  readonly mode: "push" | "page" | undefined;
  /** The failure of the last `enable` or `disable`. With mode `page` it says why there is no push. */
  readonly error: Error | undefined;
}

/** Notifications of one client, as a store. */
export type TaskNotifications = ReturnType<typeof createTaskNotifications>;

/** State on a server and before the first effect. */
export const initialState: TaskNotificationState = {
  permission: "unsupported",
  isSupported: false,
  isEnabled: false,
  mode: undefined,
  error: undefined,
};

/** Time for a subscription in milliseconds. Without a network some browsers wait for their push service without end. */
const PUSH_MS = 5000;
const WORDS: NotificationWords = { succeeded: "Your video is ready", failed: "Your video failed" };

/** Creates the store behind `useTaskNotifications`. Nothing is asked before `enable`. */
export function createTaskNotifications(client: Client, options: () => TaskNotificationOptions) {
  let state = initialState;
  let stopFallback: (() => void) | undefined;
  let isShown = false;
  let isWanted = false;
  /** Subscribing and unsubscribing, one after the other. Never rejects. */
  let work = Promise.resolve();
  const flag = scoped(client, `sluice/notifications/${client.baseURL}`);
  const store = createStore(() => state, {
    clock: systemClock,
    onUse() {
      const leaveClient = onForget(client, () => {
        if (state.isEnabled) void disable();
      });
      restore();
      return () => {
        leaveClient();
        isShown = false;
        stop();
      };
    },
  });
  return { getSnapshot: store.getSnapshot, subscribe: store.subscribe, enable, disable };

  /** Goes on as the user left it. The permission is there, so that nothing is asked. */
  function restore(): void {
    isShown = true;
    const permission = permissionOf();
    const isOn = permission === "granted" && readFlag(flag);
    // at once: a push service that can't be reached takes seconds
    set({ permission, isSupported: permission !== "unsupported", ...(isOn && { isEnabled: true }) });
    if (isOn) void connect();
  }

  /** Asks for the permission: call it in the handler of a click, or browsers refuse. */
  async function enable(): Promise<void> {
    if (permissionOf() === "unsupported") return;
    // first of all, since some browsers count what is awaited before as the end of the click
    const permission = await Notification.requestPermission();
    set({ permission, error: undefined });
    if (permission !== "granted") return;
    writeFlag(flag, true);
    await connect();
  }

  function connect(): Promise<void> {
    isWanted = true;
    work = work.then(subscribe);
    return work;
  }

  async function subscribe(): Promise<void> {
    const subscribed = isPushSupported() ? subscribePush(client, workerOf()) : Promise.resolve(false);
    let isLate = false;
    subscribed.then(
      (isPushed) => {
        if (isLate) arriveLate(isPushed);
      },
      () => {},
    );
    try {
      settle(await within(client.clock, PUSH_MS, subscribed, "the browser's push service"));
    } catch (error) {
      isLate = true;
      settle(false, error as Error);
    }
  }

  function arriveLate(isPushed: boolean): void {
    if (isWanted) settle(isPushed);
    else work = work.then(unsubscribe);
  }

  function settle(isPushed: boolean, error?: Error): void {
    if (!isWanted) return;
    if (isPushed) stop();
    set({ isEnabled: true, mode: isPushed ? "push" : "page", error });
    if (!isPushed && isShown) stopFallback ??= openFallback(client, options().storage, wordsOf);
  }

  function disable(): Promise<void> {
    isWanted = false;
    stop();
    writeFlag(flag, false);
    set({ isEnabled: false, mode: undefined, error: undefined });
    work = work.then(unsubscribe);
    return work;
  }

  async function unsubscribe(): Promise<void> {
    try {
      if (isPushSupported()) await unsubscribePush(client, workerOf());
    } catch (error) {
      set({ error: error as Error });
    }
  }

  function stop(): void {
    stopFallback?.();
    stopFallback = undefined;
  }

  function set(change: Partial<TaskNotificationState>): void {
    state = { ...state, ...change };
    store.flush();
  }

  function workerOf(): string {
    return options().worker ?? "/notifications.js";
  }

  function wordsOf(): NotificationWords {
    return options().words ?? WORDS;
  }
}

function permissionOf(): TaskNotificationState["permission"] {
  return typeof Notification === "undefined" ? "unsupported" : Notification.permission;
}

/** A browser may refuse the storage; notifications are then enabled until the page ends. */
function readFlag(name: string): boolean {
  try {
    return localStorage.getItem(name) === "on";
  } catch {
    return false;
  }
}

function writeFlag(name: string, isOn: boolean): void {
  try {
    if (isOn) localStorage.setItem(name, "on");
    else localStorage.removeItem(name);
  } catch {}
}
