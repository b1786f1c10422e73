import type { ChatModel } from "@sluice/core";
import type { ChatState, ChatStore, ChatStoreOptions } from "@sluice/stores";
import type { ChatOptionsFor } from "@sluice/stores/extend";
import { chats, getChatView } from "./chats.js";
import type { SharedStores } from "./shared-stores.js";
import { useSharedStore } from "./use-shared-store.js";
import { useStorePart } from "./use-store-part.js";

/**
 * Options of `useChatStream`: `model`, its `params`, and all other options of a chat store.
 *
 * Components with the same `id` show the same chat, and the chat survives a route change. Without components, it stays
 * in memory until its response has ended and for 5 more minutes, together with at most 99 other chats. After that, only
 * a `storage` has it. Without an `id`, the chat ends one second after its component. A turn uses the options of the
 * component that started it. `id`, `initialMessages`, `throttleMs`, `storage` and `runner` are read once, from the
 * first component. All other options may change at any time.
 */
export type UseChatStreamOptions<Output = unknown> = ChatStoreOptions<Output>;

/** Result of `useChatStream`: the state of the chat and its methods, which keep their identity. */
export interface UseChatStreamResult<Output = unknown>
  extends ChatState<Output>,
    Omit<ChatStore<Output>, "getSnapshot" | "subscribe" | "close" | "withOptions"> {}

/**
 * Shows a chat with streaming responses.
 *
 * Rendering and mounting send nothing. While a response streams, the component renders at most once in `throttleMs` (50
 * by default). It shows the end at once. The hook reads callbacks, parameters and tools when it uses them. `send` and
 * the other methods that return a promise never reject: they resolve to the turn.
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
export function useChatStream<Output = unknown, const Model extends string = ChatModel | (string & {})>(
  options: ChatOptionsFor<Model, Output>,
): UseChatStreamResult<Output> {
  const given = options as UseChatStreamOptions<Output>;
  const store = useSharedStore(
    chats as unknown as SharedStores<ChatStoreOptions<Output>, ChatStore<Output>>,
    given?.id,
    given,
  );
  const state = useStorePart({ subscribe: store.subscribe, getView: () => getChatView(store) }, selectAll);
  const { getSnapshot, subscribe, close, withOptions, ...methods } = store;
  return { ...state, ...methods };
}

function selectAll<State>(state: State): State {
  return state;
}
