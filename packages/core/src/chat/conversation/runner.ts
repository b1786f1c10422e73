import type { Chat, ReadOptions } from "./chat.js";
import type { ChatStore } from "./chat-store.js";

/** Runs the turns of a chat elsewhere. */
export interface TurnRunner {
  /** Makes the verbs that hand turns over. `verbs` are those of the page. */
  readonly createVerbs: (chat: Chat, read: ReadOptions, verbs: ChatStore) => Partial<ChatStore>;
  /** Called before a chat is restored: it may load what a page without a network needs later. */
  readonly prepare: () => void;
  /** Called after others have changed the thread of a chat. */
  readonly onMerge: (chat: Chat) => void;
}
