import type { Client } from "@sluice/core";
import { type ChatState, type ChatStore, type ChatStoreOptions, createChatStore } from "@sluice/stores";
import { getPassView, type PassView } from "./render-pass.js";
import { createSharedStores } from "./shared-stores.js";
import type { ViewedStore } from "./use-store-part.js";

/** The chats of each client. A chat with an id survives a route change, and lives on after its response has ended. */
export const chats = createSharedStores<ChatStoreOptions, ChatStore>({
  create: createChatStore,
  dispose: (store) => store.close(),
  // the next store of this id would miss the records that the storage has not written yet
  isBusy(store) {
    const { persistence, status } = store.getSnapshot();
    return persistence?.status === "unsaved" || status === "submitted" || status === "streaming";
  },
  lingerMs: 5 * 60_000,
});

/** Returns the view of a chat. Changes of its status are urgent. */
export function getChatView<State extends ChatState>(store: {
  readonly getSnapshot: () => State;
}): PassView<State> {
  return getPassView(store, ({ status }) => status);
}

const noChat: PassView<ChatState | undefined> = getPassView(
  { getSnapshot: () => undefined },
  () => undefined,
);

/** Creates a store of the state of the chat with this id. The state is undefined while the chat does not exist. */
export function createChatState(client: Client, id: string): ViewedStore<ChatState | undefined> {
  const registry = chats.get(client);
  return {
    getView() {
      const chat = registry.peek(id);
      return chat ? getChatView(chat) : noChat;
    },
    subscribe(listener) {
      let chat = registry.peek(id);
      let unsubscribe = chat?.subscribe(listener);
      const unsubscribeRegistry = registry.subscribe(() => {
        const current = registry.peek(id);
        if (current === chat) return;
        unsubscribe?.();
        chat = current;
        unsubscribe = current?.subscribe(listener);
        listener();
      });
      return () => {
        unsubscribe?.();
        unsubscribeRegistry();
      };
    },
  };
}
