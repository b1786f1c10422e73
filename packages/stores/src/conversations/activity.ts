import type { Client } from "@sluice/core";
import { addUserPrefix } from "../base/user-prefix.js";
import { getOpenChats } from "../chat/chat.js";
import type { ChatStore } from "../chat/chat-store.js";
import type { ChatState } from "../chat/state.js";
import { isLocked, withLock } from "../tabs/locks.js";

/**
 * Status of a conversation.
 *
 * - `ready`: waits for the next message
 * - `answering`: this tab streams a response
 * - `answering-elsewhere`: another tab streams a response, or a runner does in a chat that this tab shows. Other
 *   tabs are detected only in browsers with Web Locks
 * - `requires-action`: a tool call waits for the user or the app
 * - `error`: the last turn failed
 */
export type ConversationStatus = "ready" | "answering" | "answering-elsewhere" | "requires-action" | "error";

/** Listeners for the activity of chats. */
interface ActivityEvents {
  /** The messages or the status of a chat of this tab changed. */
  readonly onChat: (id: string, state: ChatState) => void;
  /** A response of this tab began or ended. */
  readonly onAnswering: (id: string, isAnswering: boolean) => void;
  /** The status of a conversation changed. */
  readonly onStatus: () => void;
}

/** Chats of this tab and responses of other tabs, by the id of the conversation. */
export interface ConversationActivity {
  /** Subscribes to the chats of these conversations that this tab has. */
  readonly subscribe: (ids: Iterable<string>) => void;
  /** Waits for the end of a response of another tab. */
  readonly watchElsewhere: (id: string) => void;
  readonly getStatus: (id: string) => ConversationStatus;
  readonly getChat: (id: string) => ChatStore | undefined;
  /** Calls `listener` when this tab shows another chat. */
  readonly onNewChat: (listener: () => void) => void;
}

/** A subscribed chat, with the function that ends its response. */
interface SubscribedChat {
  readonly chat: ChatStore;
  readonly unsubscribe: () => void;
  seen: string;
  endResponse?: (() => void) | undefined;
}

/** Creates the view of all chats of a client's tab. */
export function createConversationActivity(
  client: Client,
  { onChat, onAnswering, onStatus }: ActivityEvents,
): ConversationActivity {
  const open = getOpenChats(client);
  const subscribed = new Map<string, SubscribedChat>();
  const elsewhere = new Set<string>();
  const watched = new Set<string>();
  const always = new AbortController().signal;

  return {
    subscribe(ids) {
      for (const id of ids) subscribe(id);
    },
    watchElsewhere(id) {
      if (watched.has(id) || subscribed.get(id)?.endResponse) return;
      watched.add(id);
      void watch(id).finally(() => watched.delete(id));
    },
    getStatus,
    getChat: (id) => open.byId.get(id),
    onNewChat: (listener) => void open.subscribe(listener),
  };

  function getStatus(id: string): ConversationStatus {
    const { status = "ready", isRunningElsewhere = false } = subscribed.get(id)?.chat.getSnapshot() ?? {};
    if (status === "submitted" || status === "streaming") return "answering";
    return elsewhere.has(id) || isRunningElsewhere ? "answering-elsewhere" : status;
  }

  /** Subscribes to the current chat of this tab. Unsubscribes from an earlier chat, so that its messages can be freed. */
  function subscribe(id: string): void {
    const chat = open.byId.get(id);
    const known = subscribed.get(id);
    if (known?.chat === chat) return;
    known?.unsubscribe();
    known?.endResponse?.();
    subscribed.delete(id);
    if (!chat) return;
    const entry: SubscribedChat = {
      chat,
      seen: "",
      unsubscribe: chat.subscribe(() => handleChange(id, entry)),
    };
    subscribed.set(id, entry);
    handleChange(id, entry);
  }

  /** Reports a change, unless only the text of a response has grown. */
  function handleChange(id: string, entry: SubscribedChat): void {
    const state = entry.chat.getSnapshot();
    const { status, messages, persistence, isRunningElsewhere } = state;
    const isRestoring = persistence?.status === "restoring";
    const seen = `${status} ${messages.length} ${isRestoring} ${isRunningElsewhere} ${messages[0]?.id}`;
    if (seen === entry.seen) return;
    entry.seen = seen;
    const isBusy = status === "submitted" || status === "streaming";
    onChat(id, state);
    if (isBusy && !entry.endResponse) beginResponse(id, entry);
    if (!isBusy) entry.endResponse?.();
    onStatus();
  }

  /** Holds the lock of the conversation. Reports the response once the lock is held, because other tabs then query it. */
  function beginResponse(id: string, entry: SubscribedChat): void {
    const ended = new AbortController();
    const end = new Promise<void>((resolve) => {
      entry.endResponse = () => {
        entry.endResponse = undefined;
        ended.abort();
        resolve();
      };
    });
    withLock(client, createLockName(id), ended.signal, async () => {
      onAnswering(id, true);
      await end;
      onAnswering(id, false);
    }).catch(() => {});
  }

  async function watch(id: string): Promise<void> {
    if (!(await isLocked(client, createLockName(id))) || subscribed.get(id)?.endResponse) return;
    elsewhere.add(id);
    onStatus();
    await withLock(client, createLockName(id), always, async () => {});
    elsewhere.delete(id);
    onStatus();
  }

  function createLockName(id: string): string {
    return addUserPrefix(client, `sluice/conversation/${id}`);
  }
}
