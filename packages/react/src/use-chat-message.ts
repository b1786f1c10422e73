import type { ChatMessage } from "@sluice/stores";
import { useMemo } from "react";
import { createChatState } from "./chats.js";
import { useClient } from "./provider.js";
import { useIsHydrated } from "./use-is-hydrated.js";
import { useStorePart } from "./use-store-part.js";

/**
 * Shows one message of the chat with this id. The component rerenders only when this message changes.
 *
 * @param id the `id` of `useChatStream`
 * @returns the message; undefined on a server, and while the shown branch does not contain it
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
  const chat = useMemo(() => createChatState(client, id), [client, id]);
  const message = useStorePart(chat, (state) => state && indexMessages(state.messages).get(messageId));
  return isHydrated ? message : undefined;
}

const indexes = new WeakMap<readonly ChatMessage[], ReadonlyMap<string, ChatMessage>>();

/** Indexes messages by id. All rows of one state share the index. */
function indexMessages(messages: readonly ChatMessage[]): ReadonlyMap<string, ChatMessage> {
  const known = indexes.get(messages);
  if (known) return known;
  const index = new Map(messages.map((message) => [message.id, message]));
  indexes.set(messages, index);
  return index;
}
