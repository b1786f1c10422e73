"use client";
import type { ChatState, ChatStore, ChatStoreOptions } from "@sluice/core";
import { chats } from "./chats.js";
import type { SharedStores } from "./shared-stores.js";
import { useSharedStore } from "./use-shared-store.js";
import { useStorePart } from "./use-store.js";

/**
 * The options of `useChatStream`: `model`, its `params`, and all that a chat store takes. Components with the same `id`
 * show the same chat, and it survives the route change between them; a turn uses the options of the component that
 * started it. All but `id`, `initialMessages`, `throttleMs` and `storage` may change at any time, and these four are
 * those of the first component.
 */
export type UseChatStreamOptions<Output = unknown> = ChatStoreOptions<Output>;

/** Result of `useChatStream`: the chat's state, and functions that never change. */
export interface UseChatStreamResult<Output = unknown>
  extends ChatState<Output>,
    Omit<ChatStore<Output>, "getSnapshot" | "subscribe" | "close" | "withOptions"> {}

/**
 * A chat that streams.
 *
 * Nothing is sent by rendering or mounting. While an answer streams, the component renders at most once in
 * `throttleMs` (50 by default), and the end at once. Callbacks, parameters and tools are read when they are used.
 * `send` and the other verbs that give a promise never reject: they resolve to the turn.
 *
 * @throws {ConfigurationError} outside a `GatewayProvider`, or for `storage` without `id`
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
export function useChatStream<Output = unknown>(
  options: UseChatStreamOptions<Output>,
): UseChatStreamResult<Output> {
  const store = useSharedStore(
    chats as unknown as SharedStores<ChatStoreOptions<Output>, ChatStore<Output>>,
    options.id,
    options,
  );
  const state = useStorePart(store, whole, ({ status }) => status);
  const { getSnapshot, subscribe, close, withOptions, ...verbs } = store;
  return { ...state, ...verbs };
}

function whole<State>(state: State): State {
  return state;
}
