import type { Client, RecordStorage } from "@sluice/core";
import {
  type Conversation,
  type ConversationList,
  type ConversationListOptions,
  type ConversationListState,
  createConversationList,
} from "@sluice/stores";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { useClient } from "./provider.js";
import { useIsHydrated } from "./use-is-hydrated.js";
import { useNotedOptions } from "./use-noted-options.js";

/**
 * Options of `useConversations`. All except `activeId` and `pageSize` are read once for each client and storage.
 */
export interface UseConversationsOptions extends ConversationListOptions {
  /** Id of the shown conversation. The list contains it from its first message on, even after a reload. */
  readonly activeId?: string | undefined;
  /** Number of conversations to show at first, and to add with each `showMore()`. @default 50 */
  readonly pageSize?: number | undefined;
}

/** Result of `useConversations`: the list and its methods, which keep their identity. */
export interface UseConversationsResult
  extends ConversationListState,
    Omit<ConversationList, "getSnapshot" | "subscribe" | "show"> {
  /** The conversation with `activeId`, even if it is not on the shown pages; undefined before it is listed. */
  readonly active: Conversation | undefined;
  /** Number of all conversations. */
  readonly total: number;
  /** True if `showMore()` has more to show. */
  readonly hasMore: boolean;
  /** Shows another page. */
  readonly showMore: () => void;
}

/**
 * Lists the conversations of this browser, synchronized across tabs. `useChatStream({ id, storage })` shows one of
 * them. Titles come from the first message, and each conversation has a status. Use it in a component that stays
 * mounted.
 *
 * If the browser blocks the storage, the list lasts as long as the page, and the client emits the reason. On a server,
 * the list is empty.
 *
 * @throws {ConfigurationError} outside a `GatewayProvider`
 * @example
 * ```tsx
 * function Sidebar({ id, open }: { id: string; open: (id: string) => void }) {
 *   const { conversations, removed, create, remove, restore } = useConversations({ storage, activeId: id });
 *   return (
 *     <nav>
 *       <button onClick={() => open(create())}>New chat</button>
 *       {conversations.map(({ id, title, status }) => (
 *         <p key={id}>
 *           <button onClick={() => open(id)}>{title || "New chat"}</button> {status}
 *           <button onClick={() => remove(id)}>Delete</button>
 *         </p>
 *       ))}
 *       {removed.map(({ id, title }) => (
 *         <button key={id} onClick={() => restore(id)}>Undo: delete {title}</button>
 *       ))}
 *     </nav>
 *   );
 * }
 * ```
 */
export function useConversations(options: UseConversationsOptions = {}): UseConversationsResult {
  useNotedOptions("createConversationList or useConversations", options);
  const { storage, activeId, pageSize = 50, createTitle, restoreMs } = options;
  const client = useClient();
  const [firstOptions] = useState(() => ({ createTitle, restoreMs }));
  const store = useMemo(() => getList(client, { storage, ...firstOptions }), [client, storage, firstOptions]);
  const state = useSyncExternalStore(store.subscribe, store.getSnapshot, store.getSnapshot);
  const isHydrated = useIsHydrated();
  const [pages, setPages] = useState(1);
  useEffect(() => {
    if (activeId !== undefined) store.show(activeId);
  }, [store, activeId]);
  const all = isHydrated ? state.conversations : noConversations;
  const conversations = useMemo(() => all.slice(0, pages * pageSize), [all, pages, pageSize]);
  const { getSnapshot, subscribe, show, ...methods } = store;
  return {
    conversations,
    removed: isHydrated ? state.removed : noConversations,
    isRestoring: !isHydrated || state.isRestoring,
    active: all.find(({ id }) => id === activeId),
    total: all.length,
    hasMore: conversations.length < all.length,
    showMore: useMemo(() => () => setPages((count) => count + 1), []),
    ...methods,
  };
}

const lists = new WeakMap<Client, Map<RecordStorage | undefined, ConversationList>>();

/** Returns the list of a client's conversations in a storage. All components share it. */
function getList(client: Client, options: ConversationListOptions): ConversationList {
  if (typeof window === "undefined") return createConversationList(client, options);
  const byStorage = lists.get(client) ?? new Map<RecordStorage | undefined, ConversationList>();
  lists.set(client, byStorage);
  const list = byStorage.get(options.storage) ?? createConversationList(client, options);
  byStorage.set(options.storage, list);
  return list;
}

const noConversations: readonly Conversation[] = [];
