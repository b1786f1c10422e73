import type { ChatMessage } from "@sluice/stores";
import { useMemo } from "react";
import { chatStateOf } from "./chats.js";
import { useClient } from "./provider.js";
import { useIsHydrated } from "./use-is-hydrated.js";
import { useStorePart } from "./use-store-part.js";

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
export function useChatMessage(id: string, messageId: string): ChatMessage | undefined {
  const client = useClient();
  const isHydrated = useIsHydrated();
  const chat = useMemo(() => chatStateOf(client, id), [client, id]);
  const message = useStorePart(chat, (state) => state && messagesById(state.messages).get(messageId));
  return isHydrated ? message : undefined;
}

const indexes = new WeakMap<readonly ChatMessage[], ReadonlyMap<string, ChatMessage>>();

/** Finds messages by id. All rows that show one state share one index. */
function messagesById(messages: readonly ChatMessage[]): ReadonlyMap<string, ChatMessage> {
  const known = indexes.get(messages);
  if (known) return known;
  const index = new Map(messages.map((message) => [message.id, message]));
  indexes.set(messages, index);
  return index;
}
