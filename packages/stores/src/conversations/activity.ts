import type { Client } from "@sluice/core";
import { addUserPrefix } from "@sluice/core/internal";
import type { ChatStore } from "../chat/chat-store.js";
import { openChatsOf } from "../chat/open-chats.js";
import type { ChatState } from "../chat/state.js";
import { isLocked, withLock } from "../tabs/locks.js";

/**
 * Status of a conversation.
 *
 * - `ready`: waits for the next message
 * - `answering`: this tab streams an answer
 * - `answering-elsewhere`: another tab does, or another device in a chat that this tab shows; of other tabs it is known
 *   only where the browser has Web Locks
 * - `requires-action`: a tool call waits for the user or the app
 * - `error`: the last turn failed
 */
export type ConversationStatus = "ready" | "answering" | "answering-elsewhere" | "requires-action" | "error";

/** Receivers of what happens in the chats. */
interface ActivityEvents {
  /** A chat of this tab has other messages, or another status. */
  readonly onChat: (id: string, state: ChatState) => void;
  /** An answer of this tab began or ended. */
  readonly onAnswering: (id: string, isAnswering: boolean) => void;
  /** The status of a conversation changed. */
  readonly onStatus: () => void;
}

/** Chats of this tab and answers of other tabs, by the id of the conversation. */
export interface ConversationActivity {
  /** Subscribes to the chats of these conversations, as far as this tab has them. */
  readonly follow: (ids: Iterable<string>) => void;
  /** Waits for the end of an answer of another tab. */
  readonly watchElsewhere: (id: string) => void;
  readonly statusOf: (id: string) => ConversationStatus;
  readonly chatOf: (id: string) => ChatStore | undefined;
  /** Calls `listener` when this tab shows another chat. */
  readonly onNewChat: (listener: () => void) => void;
}

/** A chat that is followed, and the end of its answer. */
interface Followed {
  readonly chat: ChatStore;
  readonly unsubscribe: () => void;
  seen: string;
  endAnswer?: (() => void) | undefined;
}

/** Creates the view of all chats of a client's tab. */
export function createConversationActivity(
  client: Client,
  { onChat, onAnswering, onStatus }: ActivityEvents,
): ConversationActivity {
  const open = openChatsOf(client);
  const followed = new Map<string, Followed>();
  const elsewhere = new Set<string>();
  const watched = new Set<string>();
  const always = new AbortController().signal;

  return {
    follow(ids) {
      for (const id of ids) follow(id);
    },
    watchElsewhere(id) {
      if (watched.has(id) || followed.get(id)?.endAnswer) return;
      watched.add(id);
      void watch(id).finally(() => watched.delete(id));
    },
    statusOf,
    chatOf: (id) => open.byId.get(id),
    onNewChat: (listener) => void open.subscribe(listener),
  };

  function statusOf(id: string): ConversationStatus {
    const { status = "ready", isRunningElsewhere = false } = followed.get(id)?.chat.getSnapshot() ?? {};
    if (status === "submitted" || status === "streaming") return "answering";
    return elsewhere.has(id) || isRunningElsewhere ? "answering-elsewhere" : status;
  }

  /** Follows the chat that this tab has now. One that is no longer kept is let go of, with its messages. */
  function follow(id: string): void {
    const chat = open.byId.get(id);
    const known = followed.get(id);
    if (known?.chat === chat) return;
    known?.unsubscribe();
    known?.endAnswer?.();
    followed.delete(id);
    if (!chat) return;
    const entry: Followed = { chat, seen: "", unsubscribe: chat.subscribe(() => changed(id, entry)) };
    followed.set(id, entry);
    changed(id, entry);
  }

  /** A piece of an answer changes neither the status nor the number of messages. */
  function changed(id: string, entry: Followed): void {
    const state = entry.chat.getSnapshot();
    const { status, messages, isRestoring, isRunningElsewhere } = state;
    const seen = `${status} ${messages.length} ${isRestoring} ${isRunningElsewhere} ${messages[0]?.id}`;
    if (seen === entry.seen) return;
    entry.seen = seen;
    const isBusy = status === "submitted" || status === "streaming";
    onChat(id, state);
    if (isBusy && !entry.endAnswer) beginAnswer(id, entry);
    if (!isBusy) entry.endAnswer?.();
    onStatus();
  }

  /** Other tabs look for the lock, so that they are told when it is held. */
  function beginAnswer(id: string, entry: Followed): void {
    const ended = new AbortController();
    const end = new Promise<void>((resolve) => {
      entry.endAnswer = () => {
        entry.endAnswer = undefined;
        ended.abort();
        resolve();
      };
    });
    withLock(client, lockOf(id), ended.signal, async () => {
      onAnswering(id, true);
      await end;
      onAnswering(id, false);
    }).catch(() => {});
  }

  async function watch(id: string): Promise<void> {
    if (!(await isLocked(client, lockOf(id))) || followed.get(id)?.endAnswer) return;
    elsewhere.add(id);
    onStatus();
    await withLock(client, lockOf(id), always, async () => {});
    elsewhere.delete(id);
    onStatus();
  }

  function lockOf(id: string): string {
    return addUserPrefix(client, `sluice/conversation/${id}`);
  }
}
