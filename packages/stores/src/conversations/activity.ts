import type { getOpenChats } from "../chat/chat.js";
import type { ChatState, ChatStore } from "../chat/chat-store.js";

/**
 * Status of a conversation.
 *
 * - `ready`: waits for the next message, or this tab does not show its chat
 * - `responding`: this tab streams a response
 * - `responding-elsewhere`: another tab or a runner works on a response of a chat that this tab shows
 * - `requires-action`: a tool call waits for the user or the app
 * - `error`: the last turn failed
 */
export type ConversationStatus =
  | "ready"
  | "responding"
  | "responding-elsewhere"
  | "requires-action"
  | "error";

interface SubscribedChat {
  readonly chat: ChatStore;
  readonly unsubscribe: () => void;
  lastChange: string;
}

/**
 * Creates the status of the conversations whose chats this tab has.
 *
 * @param onChange called when the messages or the status of a chat have changed; not for the growth of a response
 */
export function createConversationActivity(
  { byId }: Pick<ReturnType<typeof getOpenChats>, "byId">,
  onChange: (id: string, state: ChatState) => void,
) {
  const subscribed = new Map<string, SubscribedChat>();
  return {
    /** Subscribes to the chats of these conversations that this tab has. */
    subscribe(ids: Iterable<string>): void {
      for (const id of ids) subscribe(id);
    },
    getStatus(id: string): ConversationStatus {
      const { status = "ready", isRunningElsewhere } = subscribed.get(id)?.chat.getSnapshot() ?? {};
      if (status === "submitted" || status === "streaming") return "responding";
      return isRunningElsewhere ? "responding-elsewhere" : status;
    },
  };

  /** Subscribes to the current chat of this tab. Unsubscribes from an earlier chat, so that its messages can be freed. */
  function subscribe(id: string): void {
    const chat = byId.get(id);
    const known = subscribed.get(id);
    if (known?.chat === chat) return;
    known?.unsubscribe();
    subscribed.delete(id);
    if (!chat) return;
    const entry: SubscribedChat = {
      chat,
      lastChange: "",
      unsubscribe: chat.subscribe(() => handleChange(id, entry)),
    };
    subscribed.set(id, entry);
    handleChange(id, entry);
  }

  function handleChange(id: string, entry: SubscribedChat): void {
    const state = entry.chat.getSnapshot();
    const { status, messages, persistence, isRunningElsewhere } = state;
    const isRestoring = persistence?.status === "restoring";
    const seen = `${status} ${messages.length} ${isRestoring} ${isRunningElsewhere} ${messages[0]?.id}`;
    if (seen === entry.lastChange) return;
    entry.lastChange = seen;
    onChange(id, state);
  }
}
