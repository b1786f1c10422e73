import type { ChatParams, ChatState, ChatStore, ChatStoreOptions } from "@sluice/core";
import { useEffect, useInsertionEffect, useState, useSyncExternalStore } from "react";
import { chatsOf, createSharedChat } from "./chat-registry.js";
import { useClient } from "./provider.js";

type TargetOf<Params> = Params extends { readonly model: infer Model }
  ? { readonly model: Model; readonly params?: Omit<Params, "model"> }
  : never;

/** The model to ask, and the parameters that this model has. */
export type ChatTarget = TargetOf<ChatParams>;

/** A server renders for many people in one process: what is shared there by id would be shared among them. */
const onServer = typeof window === "undefined";

/** What `useChatStream` takes. Everything but `id`, `initialMessages` and `throttleMs` may change at any time. */
export type UseChatStreamOptions = ChatTarget &
  Omit<ChatStoreOptions, "params"> & {
    /** Components with the same id show the same chat, and it survives the route change between them. */
    readonly id?: string;
  };

/** What `useChatStream` gives: the chat's state and its verbs, which never change. */
export interface UseChatStreamResult extends ChatState, Omit<ChatStore, "getSnapshot" | "subscribe"> {}

/**
 * A chat that streams.
 *
 * Nothing is sent by rendering or mounting. While an answer streams, the component renders at most once in
 * `throttleMs` (50 by default), and the end at once. Callbacks and parameters are read when they are used.
 *
 * @throws {ConfigurationError} outside a `GatewayProvider`
 * @example
 * ```tsx
 * function Chat() {
 *   const { messages, status, error, send, stop } = useChatStream({ model: "delta-5.3" });
 *   return (
 *     <form action={(form) => void send(String(form.get("question")))}>
 *       {messages.map(({ id, role, content }) => <p key={id} className={role}>{content}</p>)}
 *       <input name="question" />
 *       {status === "streaming" && <button type="button" onClick={stop}>Stop</button>}
 *     </form>
 *   );
 * }
 * ```
 */
export function useChatStream(options: UseChatStreamOptions): UseChatStreamResult {
  const client = useClient();
  const [ownKey] = useState(() => ({}));
  const key = options.id ?? ownKey;
  const chats = chatsOf(client);
  const { model, params, ...rest } = options;
  const latest: ChatStoreOptions = { ...rest, params: { ...params, model } as ChatParams };
  const create = () => createSharedChat(client, latest);
  const chat = onServer ? create() : chats.get(key, create);
  const { store } = chat;

  useInsertionEffect(() => chat.update(latest));
  useEffect(() => chats.hold(key, chat), [chats, key, chat]);
  const state = useSyncExternalStore(store.subscribe, store.getSnapshot, store.getSnapshot);
  const { send, stop, regenerate, clear } = store;
  return { ...state, send, stop, regenerate, clear };
}
