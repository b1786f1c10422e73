import type { Client } from "@sluice/core";
import { createListeners } from "@sluice/core/extend";
import type { ChatStore } from "./chat-store.js";

/** The chats with an id that this page uses, from the first use until `close`. */
export interface OpenChats {
  readonly byId: Map<string, ChatStore>;
  /** Calls `listener` when a chat is used for the first time, or closed. */
  readonly subscribe: (listener: () => void) => () => void;
  readonly notify: () => void;
}

const openChats = new WeakMap<Client, OpenChats>();

/** Returns the open chats of a client. */
export function getOpenChats(client: Client): OpenChats {
  const known = openChats.get(client) ?? { byId: new Map(), ...createListeners<[]>() };
  openChats.set(client, known);
  return known;
}
