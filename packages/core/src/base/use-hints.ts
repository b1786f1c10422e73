import type { Issue } from "../vocabulary/errors.js";

/* Loaded in development with the first chat or client. */

interface Warner {
  /** Emits a warning. */
  readonly warn: (issue: Issue) => void;
}

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

/** The fields of a client that are compared with those of its replacement. */
export interface ReplacedClient extends Warner {
  readonly baseURL: string;
  readonly user: string | undefined;
}

/** Warns if a client has the same gateway and user as the client that it replaces. */
export function compareClients(before: ReplacedClient, client: ReplacedClient): void {
  if (before.baseURL !== client.baseURL || before.user !== client.user) return;
  const message =
    "is a new one with the same baseURL, and the chats of the one before are gone: call createClient() outside of " +
    "components, or keep the client in useState()";
  client.warn({ path: "GatewayProvider.client", message, rule: "options.client" });
}
