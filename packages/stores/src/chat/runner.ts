import type { Chat, ReadOptions } from "./chat.js";
import type { ChatStore } from "./chat-store.js";

/** Runs the turns of a chat elsewhere. Only the sync lab makes one: the parameters are internal and may change. */
export interface TurnRunner {
  /** Makes the verbs that hand turns over: of a chat, its options, and the verbs of the page. */
  readonly createVerbs: (chat: never, read: never, verbs: ChatStore) => Partial<ChatStore>;
  /** Called before a chat is restored: it may load what a page without a network needs later. */
  readonly prepare: () => void;
  /** Called after others have changed the thread of a chat. */
  readonly onMerge: (chat: never) => void;
}

/** The same with the types that the chat gives. */
export interface OpenTurnRunner extends TurnRunner {
  readonly createVerbs: (chat: Chat, read: ReadOptions, verbs: ChatStore) => Partial<ChatStore>;
  readonly onMerge: (chat: Chat) => void;
}
