import type { Client } from "@sluice/core";
import { createListeners } from "@sluice/core/internal";
import type { ChatStore } from "./chat-store.js";

/** The chats with an id that this page uses: each from its first use until it is closed. */
export interface OpenChats {
  readonly byId: Map<string, ChatStore>;
  /** Calls `listener` when a chat is used for the first time, or closed. */
  readonly subscribe: (listener: () => void) => () => void;
  readonly notify: () => void;
}

const ofClients = new WeakMap<Client, OpenChats>();

/** Returns the open chats of a client. */
export function openChatsOf(client: Client): OpenChats {
  const known = ofClients.get(client) ?? { byId: new Map(), ...createListeners<[]>() };
  ofClients.set(client, known);
  return known;
}
