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

/** The chats of each client: one with an id outlives a route change. */
export const chats = sharedStores<ChatStoreOptions, ChatStore>({
  create: createChatStore,
  dispose: (store) => store.close(),
  lingerMs: 5 * 60_000,
});

/** The state of the chat with an id; undefined while there is none. */
export function watchChat(client: Client, id: string): Store<ChatState | undefined> {
  const registry = chats.of(client);
  return {
    getSnapshot: () => registry.peek(id)?.getSnapshot(),
    subscribe(listener) {
      let watched = registry.peek(id);
      let stop = watched?.subscribe(listener);
      const stopWaiting = registry.subscribe(() => {
        const current = registry.peek(id);
        if (current === watched) return;
        stop?.();
        watched = current;
        stop = current?.subscribe(listener);
        listener();
      });
      return () => {
        stop?.();
        stopWaiting();
      };
    },
  };
}
