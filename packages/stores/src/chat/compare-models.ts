import type { Client } from "@sluice/core";

/* Loaded in development with the first chat that has an id. */

type Warner = Pick<Client, "warn">;

/** A subscriber of a chat. */
interface Subscriber {
  /** Returns its options. */
  readonly read: () => { readonly model: string };
  readonly isOver: () => boolean;
}

/** Subscribers of the chats of each client, by the id of the chat. */
const subscribers = new WeakMap<Warner, Map<string, Subscriber[]>>();

/** Warns if another subscriber of the same chat has another model. */
export function compareModels(client: Warner, id: string, subscriber: Subscriber): void {
  if (subscriber.isOver()) return;
  const chats = subscribers.get(client) ?? new Map<string, Subscriber[]>();
  subscribers.set(client, chats);
  const others = (chats.get(id) ?? []).filter(({ isOver }) => !isOver());
  chats.set(id, [...others, subscriber]);
  const { model } = subscriber.read();
  const other = others.map(({ read }) => read().model).find((name) => name !== model);
  if (other === undefined) return;
  const message = `is "${model}", and "${other}" in another chat with the id "${id}": give both one model, or two ids`;
  client.warn({ path: "createChatStore.model", message, rule: "options.model" });
}
