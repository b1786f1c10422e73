import type { ChatState, ChatStatus, ThreadMessage } from "@sluice/core";
import { useMemo, useSyncExternalStore } from "react";
import { watchChat } from "./chat-registry.js";
import { useClient } from "./provider.js";

/**
 * One message of the chat that `useChatStream({ id })` shows: renders again only when this message changes.
 *
 * @returns undefined while there is no such message on the branch that is shown, and on a server
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
  return useChatPart(id, (state) => state && messagesById(state.messages).get(messageId));
}

/**
 * What the chat that `useChatStream({ id })` shows is doing: renders again only when that changes.
 *
 * @returns `"ready"` as long as there is no such chat, and on a server
 * @throws {ConfigurationError} outside a `GatewayProvider`
 * @example
 * ```tsx
 * const isBusy = ["submitted", "streaming"].includes(useChatStatus("support"));
 * ```
 */
export function useChatStatus(id: string): ChatStatus {
  return useChatPart(id, (state) => state?.status) ?? "ready";
}

function useChatPart<Part>(id: string, select: (state: ChatState | undefined) => Part | undefined) {
  const client = useClient();
  const { subscribe, getSnapshot } = useMemo(() => watchChat(client, id), [client, id]);
  return useSyncExternalStore(
    subscribe,
    () => select(getSnapshot()),
    () => undefined,
  );
}

const indexes = new WeakMap<readonly ThreadMessage[], ReadonlyMap<string, ThreadMessage>>();

/** One index for each state, however many rows ask for theirs. */
function messagesById(messages: readonly ThreadMessage[]): ReadonlyMap<string, ThreadMessage> {
  const known = indexes.get(messages);
  if (known) return known;
  const index = new Map(messages.map((message) => [message.id, message]));
  indexes.set(messages, index);
  return index;
}
