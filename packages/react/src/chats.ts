import type { Client } from "@sluice/core";
import { type ChatState, type ChatStore, type ChatStoreOptions, createChatStore } from "@sluice/stores";
import { type PassView, passViewOf } from "./pass-view.js";
import { sharedStores } from "./shared-stores.js";
import type { ViewedStore } from "./use-store-part.js";

/** The chats of each client. A chat with an id survives a route change, and the end of its answer. */
export const chats = sharedStores<ChatStoreOptions, ChatStore>({
  create: createChatStore,
  dispose: (store) => store.close(),
  // what the storage has not taken yet would be missing in the next store of this id
  isBusy: (store) =>
    store.getSnapshot().unsaved > 0 || ["submitted", "streaming"].includes(store.getSnapshot().status),
  lingerMs: 5 * 60_000,
});

/** Returns the versions of a chat. Its status is shown at once. */
export function viewOfChat<State extends ChatState>(store: {
  readonly getSnapshot: () => State;
}): PassView<State> {
  return passViewOf(store, ({ status }) => status);
}

const noChat: PassView<ChatState | undefined> = passViewOf({ getSnapshot: () => undefined }, () => undefined);

/** Returns the state of the chat with this id, as a store; its state is undefined while there is no such chat. */
export function chatStateOf(client: Client, id: string): ViewedStore<ChatState | undefined> {
  const registry = chats.of(client);
  return {
    view() {
      const chat = registry.peek(id);
      return chat ? viewOfChat(chat) : noChat;
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
