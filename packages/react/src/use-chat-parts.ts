import type { ChatState, ChatStatus, ThreadMessage } from "@sluice/stores";
import { useMemo } from "react";
import { chatStateOf } from "./chats.js";
import { useClient } from "./provider.js";
import { useIsHydrated } from "./use-is-hydrated.js";
import { useStorePart, type ViewedStore } from "./use-store-part.js";

/**
 * Shows one message of the chat with this id. The component renders again only when this message changes.
 *
 * @param id the `id` of `useChatStream`
 * @returns undefined on a server, and while the shown branch has no such message
 * @throws {ConfigurationError} outside a `GatewayProvider`
 * @example
 * ```tsx
 * const Row = memo(function Row({ messageId }: { messageId: string }) {
 *   const message = useChatMessage("support", messageId);
 *   return <p>{message?.content}</p>;
 * });
 * ```
 */
export function useChatMessage(id: string, messageId: string): ThreadMessage | undefined {
  const isHydrated = useIsHydrated();
  const find = (state: ChatState | undefined) => state && messagesById(state.messages).get(messageId);
  const message = useStorePart(useChatState(id), find);
  return isHydrated ? message : undefined;
}

/**
 * Shows the status of the chat with this id. The component renders again only when the status changes.
 *
 * @param id the `id` of `useChatStream`
 * @returns `"ready"` on a server, and while there is no such chat
 * @throws {ConfigurationError} outside a `GatewayProvider`
 * @example
 * ```tsx
 * const isBusy = ["submitted", "streaming"].includes(useChatStatus("support"));
 * ```
 */
export function useChatStatus(id: string): ChatStatus {
  // a page hydrates with the first state of a chat, whose status a server has rendered without the chat
  return useStorePart(useChatState(id), (state) => state?.status ?? "ready");
}

function useChatState(id: string): ViewedStore<ChatState | undefined> {
  const client = useClient();
  return useMemo(() => chatStateOf(client, id), [client, id]);
}

const indexes = new WeakMap<readonly ThreadMessage[], ReadonlyMap<string, ThreadMessage>>();

/** Finds messages by id. All rows that show one state share one index. */
function messagesById(messages: readonly ThreadMessage[]): ReadonlyMap<string, ThreadMessage> {
  const known = indexes.get(messages);
  if (known) return known;
  const index = new Map(messages.map((message) => [message.id, message]));
  indexes.set(messages, index);
  return index;
}
