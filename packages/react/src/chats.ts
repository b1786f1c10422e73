"use client";
import {
  type ChatState,
  type ChatStore,
  type ChatStoreOptions,
  type Client,
  createChatStore,
  type Store,
} from "@sluice/core";
import { sharedStores } from "./shared-stores.js";

/** The chats of each client. A chat with an id survives a route change. */
export const chats = sharedStores<ChatStoreOptions, ChatStore>({
  create: createChatStore,
  dispose: (store) => store.close(),
  lingerMs: 5 * 60_000,
});

/** Returns the state of the chat with this id, as a store; undefined while there is no such chat. */
export function chatStateOf(client: Client, id: string): Store<ChatState | undefined> {
  const registry = chats.of(client);
  return {
    getSnapshot: () => registry.peek(id)?.getSnapshot(),
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
